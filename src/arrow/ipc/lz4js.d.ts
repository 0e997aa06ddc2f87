declare module 'lz4js' {
  /** Decompresses one block into `target` from `to` on; gives where it ended. Checks nothing. */
  export function decompressBlock(
    source: Uint8Array,
    target: Uint8Array,
    from: number,
    length: number,
    to: number,
  ): number
}
