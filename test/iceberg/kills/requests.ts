import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from '../../../src/iceberg/json.ts'
import { type IcebergAnswer, IcebergRequests, schema } from '../rest.ts'
import type { Outcome } from './ledger.ts'

export const namespace = 'pairs'

/** Answers after which nobody knows whether a commit was made. */
const unknownStates = [500, 502, 503, 504]
/** How often something is asked again. */
export const mostAttempts = 3_000
export const pauseMillis = 20

/** Sends requests to one of several servers, each of which may be away. */
export class Requests {
  readonly #servers: readonly IcebergRequests[]
  readonly #random: () => number

  constructor(urls: readonly string[], random: () => number) {
    // A paused server does not answer for seconds.
    this.#servers = urls.map((url) => new IcebergRequests(`${url}/iceberg`, 1_500))
    this.#random = random
  }

  /** One attempt; undefined without an answer. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<IcebergAnswer | undefined> {
    const server = this.#servers[Math.floor(this.#random() * this.#servers.length)]!
    return server.send(method, path, body, headers).catch((error) => {
      // A programming error is no lost answer.
      if (error instanceof TypeError && error.message === 'fetch failed') return undefined
      if (['TimeoutError', 'AbortError', 'TypeError'].includes(error.name)) return undefined
      throw error
    })
  }

  /** Asks until there is an answer of the table, rather than of a server that is not able to give one. */
  async until(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<IcebergAnswer> {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const answer = await this.ask(method, path, body, headers)
      if (answer !== undefined && !unknownStates.includes(answer.status)) return answer
      await sleep(pauseMillis)
    }
    throw new Error(`no server answers ${method} ${path}`)
  }

  /** A table's metadata. */
  // biome-ignore lint/suspicious/noExplicitAny: metadata as the answer has it
  async load(name: string): Promise<any> {
    const answer = await this.until('GET', `namespaces/${namespace}/tables/${name}`)
    assert.equal(answer.status, 200, toldBy(answer))
    return answer.body.metadata
  }

  /** Makes the namespace of all tables, if it is not there. */
  async makeNamespace(): Promise<void> {
    const { status } = await this.until('HEAD', `namespaces/${namespace}`)
    // Its own answer may be lost.
    if (status === 404) await this.until('POST', 'namespaces', { namespace: [namespace] })
  }

  async create(name: string): Promise<void> {
    const headers = { 'idempotency-key': randomUUID() }
    const answer = await this.until('POST', `namespaces/${namespace}/tables`, { name, schema }, headers)
    assert.equal(answer.status, 200, toldBy(answer))
  }

  async drop(name: string): Promise<void> {
    const { status } = await this.until(
      'DELETE',
      `namespaces/${namespace}/tables/${name}?purgeRequested=true`,
    )
    assert([204, 404].includes(status), `a table is dropped with ${status}`)
  }
}

/** What an answer to a commit says. Any that is not for it is a broken promise. */
export function outcomeOf(answer: IcebergAnswer | undefined): Outcome {
  if (answer === undefined) return 'unknown'
  const { status, body, headers } = answer
  if (status === 204 || status === 200) return 'acknowledged'
  const told = toldBy(answer)
  if (status === 409) {
    assert.equal(body.error.type, 'CommitFailedException', told)
    return 'refused'
  }
  assert(unknownStates.includes(status), `a commit is answered by ${told}`)
  // Java's client takes this for a commit that was not made, and sends it again by itself.
  return status === 503 && headers.has('retry-after') ? 'refused' : 'unknown'
}

/** The status and the error of an answer, for messages. */
export function toldBy({ status, body }: IcebergAnswer): string {
  return `${status} ${stringify(body?.error ?? null)}`
}
