/* Device images in data sections, with no fatbin around them. */
        .section .rodata
        .balign 32
        .incbin "saxpy.cubin"
        .balign 32
        .incbin "saxpy.ltoir"

        .section .ldata, "aw"
        .balign 32
        .incbin "saxpy.cubin.zst"

        .section .note.GNU-stack, "", %progbits
