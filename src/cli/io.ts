/** The streams and the environment of a command: those of the process, or those of a test. */
export interface Io {
  readonly stdin: AsyncIterable<Uint8Array>
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** The version of this release. */
  readonly version: string
}

export interface Output {
  write(chunk: string | Uint8Array): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

/** All bytes of a stream. */
export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  // A small Buffer shares its memory with others, but the Arrow decoder uses the whole underlying memory.
  return new Uint8Array(bytes)
}
