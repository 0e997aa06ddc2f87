import { serve } from '../../../dist/server/index.js'
import { openCatalog } from '../../../dist/tabularium/index.js'

/* A server of a catalog, with no credentials, on loopback; tells its URL. */

const [directory, cacheBytes] = process.argv.slice(2) as [string, string]
const catalog = await openCatalog(directory, { cacheBytes: Number(cacheBytes) })
const server = await serve(catalog, { auth: false, port: 0 })
process.on('disconnect', () => process.exit())
process.send!(server.url)
