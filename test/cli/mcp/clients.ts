import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { onTestFinished } from 'vitest'
import { main } from '../../../src/cli/main.ts'
import { serveConnection } from '../../../src/cli/mcp/protocol-server.ts'
import { loadSdk } from '../../../src/cli/mcp/sdk.ts'
import type { Catalog } from '../../../src/tabularium/index.ts'

/** What a tool answered: the text, and whether it is an error. */
export interface Called {
  readonly text: string
  readonly isError: boolean
}

/** A client of the SDK, with its calls as text. */
export class ToolClient {
  readonly client = new Client({ name: 'tests', version: '1.0.0' })

  async call(name: string, given: Readonly<Record<string, unknown>> = {}): Promise<Called> {
    const { content, isError = false } = await this.client.callTool({ name, arguments: { ...given } })
    const [part] = content as { type: string; text: string }[]
    return { text: part!.text, isError: isError as boolean }
  }

  /** The parsed answer of a call that must succeed. */
  async ask<T = Record<string, unknown>>(
    name: string,
    given?: Readonly<Record<string, unknown>>,
  ): Promise<T> {
    const { text, isError } = await this.call(name, given)
    if (isError) throw new Error(`${name}: ${text}`)
    return JSON.parse(text) as T
  }

  /** The text of a call that must fail. */
  async refused(name: string, given?: Readonly<Record<string, unknown>>): Promise<string> {
    const { text, isError } = await this.call(name, given)
    if (!isError) throw new Error(`${name} answered ${text}`)
    return text
  }
}

/** A client that is connected in this process, until the test ends. */
export async function connected(
  catalog: Catalog,
  { writes = true, rows = 1_000, bytes = 256 * 1024, report = fail as (error: unknown) => void } = {},
): Promise<ToolClient> {
  const served = { catalog, writes, limits: { rows, bytes } }
  const { server, close } = serveConnection(await loadSdk(), served, undefined, report)
  const [mine, its] = InMemoryTransport.createLinkedPair()
  const tool = new ToolClient()
  await Promise.all([server.connect(its), tool.client.connect(mine)])
  onTestFinished(async () => {
    await tool.client.close()
    await close()
  })
  return tool
}

function fail(error: unknown): never {
  throw error
}

/** Runs the command over HTTP in this process until the test ends, and returns its URL. */
export async function serving(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const stop = new AbortController()
  const url = new Promise<string>((resolve, reject) => {
    const io = {
      stdin: (async function* () {})(),
      stdout: { write: (text: string | Uint8Array) => resolve(String(text).trim().split(' ').at(-1)!) },
      stderr: { write: (text: string | Uint8Array) => reject(new Error(String(text))) },
      env,
      version: '1.2.3',
      signal: stop.signal,
    }
    const done = main(['mcp', ...args, '--http', '--port', '0'], io)
    onTestFinished(async () => {
      stop.abort()
      await done
    })
  })
  return url
}

/** A client over HTTP, until the test ends. */
export async function overHttp(url: string, headers: Readonly<Record<string, string>> = {}) {
  const tool = new ToolClient()
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
  })
  await tool.client.connect(transport)
  onTestFinished(() => tool.client.close())
  return Object.assign(tool, { transport })
}
