import { optionalPackage } from '../../base/optional-package.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import type { OperationOptions } from '../../tabularium/index.ts'
import type { CallOptions } from './connection.ts'

/** Loads the SDK of the protocol. Fails with `Unsupported`, and names the package, where it is not installed. */
export function loadSdk() {
  return optionalPackage('The command mcp', '@modelcontextprotocol/sdk', async () => {
    const [{ Server }, { StdioServerTransport }, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ])
    return {
      Server,
      StdioServerTransport,
      HttpTransport: http.WebStandardStreamableHTTPServerTransport,
      types,
    }
  })
}

export type Sdk = Awaited<ReturnType<typeof loadSdk>>

/** What the SDK hands over with a request, besides its arguments. */
interface RequestExtra {
  readonly signal: AbortSignal
  readonly authInfo?: { readonly extra?: Readonly<Record<string, unknown>> }
}

/** The options of a call: over HTTP, those of the request, and a signal for both. */
export function callOptions({ signal, authInfo }: RequestExtra): CallOptions {
  const options = authInfo?.extra?.options as OperationOptions | undefined
  return { ...options, signal: anySignal(signal, options?.signal) }
}
