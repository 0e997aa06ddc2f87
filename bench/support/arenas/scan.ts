import { openCatalog } from '../../../dist/tabularium/index.js'
import { serveArena } from '../arena.ts'
import { milliseconds } from '../measure.ts'

/* Counts a table in a process of its own, and tells its memory at most: the contender `peak`, in MiB. */

const [directory, table, cacheBytes, predicate] = process.argv.slice(2) as [string, string, string, string]
const catalog = await openCatalog(directory, { cacheBytes: Number(cacheBytes) })
let peak = 0
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 5)
const scan = () => catalog.countTableRows({ id: [table], predicate })
serveArena({
  count: async (times) => {
    const took = await milliseconds(async () => {
      for (let i = 0; i < times; i++) await scan()
    })
    return took / times
  },
  peak: () => Math.max(peak, process.memoryUsage.rss()) / 2 ** 20,
  idle: () => process.memoryUsage.rss() / 2 ** 20,
})
