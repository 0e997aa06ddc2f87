import type { IncomingHttpHeaders } from 'node:http'
import type { Dialect } from './dialect.ts'
import { generatedAgent, generatedDialect } from './generated.ts'
import { lancedbDialect, namespaceDialect } from './lancedb.ts'

const protocol: Dialect = { name: 'protocol', plusIsSpace: false }

/** The protocol with form-encoded paths: LanceDB's namespace client at a server with recursive listings. */
const formPaths: Dialect = { name: 'form-paths', plusIsSpace: true }

/** The dialect of a client, by its headers and the server's `listing` option. */
export function dialectOf(headers: IncomingHttpHeaders, listing: Dialect['listing'] | 'recursive'): Dialect {
  // LanceDB's remote client sends its database name to every server except LanceDB's own. Its other headers do not
  // identify it: the namespace client also sends `x-lancedb-min-timestamp`, and any client may have an API key.
  if (headers['x-lancedb-database'] !== undefined) return lancedbDialect
  // The namespace client requests answers that are not older than its last write.
  const isAfterWrite =
    headers['x-lancedb-min-timestamp'] !== undefined || headers['x-lancedb-min-version'] !== undefined
  const base = listing === 'children' ? namespaceDialect : isAfterWrite ? formPaths : protocol
  const agent = headers['user-agent']
  return agent?.startsWith(generatedAgent) ? generatedDialect(agent, base) : base
}
