import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CatalogError } from '../../base/errors.ts'

/*
 * Lance asks a catalog for versions over HTTP alone. So it asks a listener of this process, on loopback, with a secret
 * that never leaves the process. The names of tables there are random, and each stands for one open handle: what Lance
 * asks is answered for the operation that opened it.
 */

/** A version of a dataset, as Lance reads it. */
export interface DatasetVersion {
  readonly version: number
  readonly manifest_path: string
  readonly manifest_size?: number
  readonly e_tag?: string
}

/** The versions of a dataset. `''` is the main branch. */
export interface DatasetVersions {
  /** The latest version of a branch; undefined if it has none, or is not there. */
  latest(branch: string): Promise<DatasetVersion | undefined>
  /** One version of a branch. */
  find(branch: string, version: number): Promise<DatasetVersion | undefined>
  /** Records a version whose manifest Lance staged, and publishes it. Absent where rows are only read. */
  create?(staged: StagedVersion): Promise<DatasetVersion>
}

/** A version that Lance wrote, and asks to be recorded. */
export interface StagedVersion extends DatasetVersion {
  readonly branch: string
  readonly naming_scheme?: string
}

/** A dataset that Lance may open. */
export interface Dataset {
  /** The URL of its folder. */
  readonly location: string
  readonly versions: DatasetVersions
  /** Options and credentials for its location. Lance asks again before they expire. */
  storageOptions?(): Promise<Readonly<Record<string, string>> | undefined>
}

/** Most bytes of a request of Lance: the names of versions, and no rows. */
const maxRequestBytes = 1 << 20

/** How long a connection may wait for its next request, in milliseconds. */
const idleMillis = 120_000

/** The catalog as Lance sees it: the datasets that are open. */
export class Bridge {
  readonly headers: Readonly<Record<string, string>>
  readonly #secret: string
  readonly #server: Server
  readonly #datasets = new Map<string, Dataset>()
  #listening: Promise<string> | undefined

  constructor() {
    this.#secret = `Bearer ${randomBytes(32).toString('base64url')}`
    this.headers = { authorization: this.#secret }
    this.#server = createServer((request, response) => {
      this.#answer(request).then(
        (answer) => send(response, 200, answer),
        (error: unknown) => send(response, statusOf(error), problemOf(error)),
      )
    })
    // Lance closes a connection after 90 seconds without a request. Closed here earlier, it could close as a request comes.
    this.#server.keepAliveTimeout = idleMillis
    this.#server.headersTimeout = idleMillis
    // A catalog that nobody closes does not hold its process.
    this.#server.unref()
  }

  /** Listens, and answers with the URL. */
  listen(): Promise<string> {
    this.#listening ??= new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', () => {
        resolve(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`)
      })
    })
    return this.#listening
  }

  /** Lets Lance open a dataset by the answered name, until it is removed. */
  add(dataset: Dataset): string {
    const name = randomBytes(18).toString('hex')
    this.#datasets.set(name, dataset)
    return name
  }

  /** Lets the handle of a name ask for another operation. */
  set(name: string, dataset: Dataset): void {
    this.#datasets.set(name, dataset)
  }

  remove(name: string): void {
    this.#datasets.delete(name)
  }

  async close(): Promise<void> {
    if (this.#listening === undefined) return
    await this.#listening.catch(() => {})
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage): Promise<object> {
    if (!isSame(request.headers.authorization, this.#secret)) {
      throw new CatalogError('Unauthenticated', 'Only Lance in this process may ask here.')
    }
    const url = new URL(request.url!, 'http://loopback')
    const [, name = '', action] = /^\/v1\/table\/([0-9a-f]+)\/(.+)$/.exec(url.pathname) ?? []
    const dataset = this.#datasets.get(name)
    if (dataset === undefined) throw new CatalogError('TableNotFound', 'There is no such open dataset.')
    const body = await bodyOf(request)
    const { location, versions } = dataset
    switch (action) {
      case 'declare':
      case 'describe': {
        const storage_options = await dataset.storageOptions?.()
        const described = { location, managed_versioning: true, properties: {}, storage_options }
        return action === 'declare' ? described : { ...described, is_only_declared: false }
      }
      case 'version/list': {
        const latest = await versions.latest(branchOf(url.searchParams.get('branch')))
        return { versions: latest === undefined ? [] : [latest] }
      }
      case 'version/describe': {
        const version = Number(body.version)
        const found = await versions.find(branchOf(body.branch), version)
        if (found) return { version: found }
        throw new CatalogError('TableVersionNotFound', `There is no version ${version}.`)
      }
      case 'version/create': {
        if (versions.create === undefined) break
        const staged = { ...body, branch: branchOf(body.branch) } as unknown as StagedVersion
        return { version: await versions.create(staged) }
      }
    }
    throw new CatalogError('Unsupported', `${action} is not for Lance in this process.`)
  }
}

function branchOf(given: unknown): string {
  return typeof given === 'string' && given !== 'main' ? given : ''
}

function isSame(given: string | undefined, secret: string): boolean {
  return given?.length === secret.length && timingSafeEqual(Buffer.from(given), Buffer.from(secret))
}

/** The body of a request. Iterating over it would take a tenth of a millisecond more. */
function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let size = 0
    request.on('data', (part: Buffer) => {
      size += part.length
      if (size > maxRequestBytes) reject(new CatalogError('InvalidInput', 'The request is too long.'))
      else parts.push(part)
    })
    request.on('error', reject)
    request.on('end', () => {
      try {
        resolve(size === 0 ? {} : (JSON.parse(Buffer.concat(parts).toString()) ?? {}))
      } catch (error) {
        reject(error)
      }
    })
  })
}

function statusOf(error: unknown): number {
  if (!(error instanceof CatalogError)) return 500
  if (error.code === 'ConcurrentModification') return 409
  if (error.code === 'Unauthenticated') return 401
  if (error.code === 'Unsupported') return 406
  return /NotFound$/.test(error.code) ? 404 : 400
}

function problemOf(error: unknown): object {
  const found = error instanceof CatalogError ? error : new CatalogError('Internal', String(error))
  return { code: found.number, error: found.message, detail: found.message }
}

function send(response: ServerResponse, status: number, answer: object): void {
  const bytes = Buffer.from(JSON.stringify(answer))
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length })
  response.end(bytes)
}
