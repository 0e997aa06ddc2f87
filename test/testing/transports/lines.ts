/*
 * The protocol of the transport: one JSON document a line, bytes as base64.
 */
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { ErrorCode, OperationName } from 'tabularium'

/** From the client: an operation to run, or to stop. */
export interface Asked {
  readonly call: number
  readonly operation?: OperationName
  readonly request?: unknown
  /** The transaction that the operation is part of. */
  readonly transaction?: string | undefined
  readonly stop?: true
}

/** From the server: the outcome of a call. */
export interface Answered {
  readonly call: number
  readonly answer?: unknown
  readonly error?: {
    readonly code: ErrorCode
    readonly message: string
    readonly transaction_id?: string | undefined
  }
}

export function send(to: Writable, message: Asked | Answered): void {
  to.write(`${JSON.stringify(message, encodeBytes)}\n`)
}

/** Calls `take` for each message, in order. Resolves when there are no more. */
export async function receive<T>(from: Readable, take: (message: T) => void): Promise<void> {
  for await (const line of createInterface({ input: from })) take(JSON.parse(line, decodeBytes) as T)
}

function encodeBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString('base64') } : value
}

function decodeBytes(_key: string, value: unknown): unknown {
  const bytes = (value as { $bytes?: unknown } | null)?.$bytes
  return typeof bytes === 'string' ? new Uint8Array(Buffer.from(bytes, 'base64')) : value
}
