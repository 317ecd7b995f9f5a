/* A fatbin and its wrapper, as a compiler lays them out, for any host that the assembler knows. */
        .section .nv_fatbin, "a"
        .balign 8
fatbin: .incbin "saxpy.fatbin"

        .section .nvFatBinSegment, "aw"
        .balign 8
        .long 0x466243b1, 1
        .quad fatbin, 0
