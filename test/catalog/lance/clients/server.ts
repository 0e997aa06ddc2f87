import { setTimeout as sleep } from 'node:timers/promises'
import type { Content, SharedFiles } from '../../../../src/base/content/content.ts'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { serve } from '../../../../src/server/index.ts'
import { openLmdbStore } from '../../../../src/stores/lmdb/index.ts'
import { openCatalog } from '../../../../src/tabularium/index.ts'

/*
 * Serves a catalog that manages versions. Now and then it ends, as if it was killed, between the record of a version and
 * its publication, or right after the publication: `server FOLDER PORT SHARE`.
 */

const [folder, port, share] = process.argv.slice(2) as [string, string, string]

const files = fileContent(folder)
const dieNowAndThen = () => {
  if (Math.random() < Number(share)) process.kill(process.pid, 'SIGKILL')
}
const shared: SharedFiles = {
  names: (prefix) => files.shared!.names(prefix),
  sync: (path) => files.shared!.sync(path),
  replace: (path, bytes) => files.shared!.replace(path, bytes),
  link: async (from, to) => {
    dieNowAndThen()
    // Others look meanwhile.
    await sleep(Math.random() * 5)
    const result = await files.shared!.link(from, to)
    dieNowAndThen()
    return result
  },
}
const content: Content = {
  put: (path, bytes) => files.put(path, bytes),
  get: (path, range) => files.get(path, range),
  list: (prefix) => files.list(prefix),
  remove: (path) => files.remove(path),
  shared,
}
const catalog = await openCatalog({
  store: await openLmdbStore(`${folder}/store`),
  content,
  root: `file://${folder}`,
  managedVersioning: true,
})
await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, listing: 'children', port: Number(port) })
process.stdin.on('end', () => process.exit()).resume()
console.log('ready')
