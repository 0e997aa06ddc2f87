import { openCatalog } from '../../../../src/tabularium/index.ts'

/*
 * As writer.ts, by the row operations of the catalog, which Lance carries out in the server: `row-writer URL NUMBER`.
 */

const [url, number] = process.argv.slice(2) as [string, string]
const say = (line: object) => console.log(JSON.stringify(line))

process.stdin.on('end', () => process.exit()).resume()
const catalog = await openCatalog(url)
const id = ['t']
let next = Number(number) * 1_000_000
const there: number[] = []

async function change(): Promise<void> {
  const chance = Math.random()
  if (Math.random() < 0.15) {
    const n = next++
    say({ op: 'mark', n })
    await catalog.updateTableSchemaMetadata({ id, metadata: { mark: String(n) } })
  } else if (chance < 0.35) {
    const counter = Math.floor(Math.random() * 10)
    say({ op: 'count', id: counter })
    await catalog.updateTable({ id, updates: [['n', 'n + 1']], predicate: `id = ${counter}` })
  } else if (chance < 0.6) {
    const row = next++
    say({ op: 'add', id: row })
    await catalog.insertIntoTable({ id, data: [{ id: row, n: 0 }] })
    there.push(row)
  } else if (chance < 0.75) {
    const row = 10 + Math.floor(Math.random() * 5)
    const n = next++
    say({ op: 'upsert', id: row, n })
    await catalog.mergeInsertIntoTable({
      id,
      on: 'id',
      data: [{ id: row, n }],
      when_matched_update_all: true,
      when_not_matched_insert_all: true,
    })
  } else {
    const row = there.pop()
    if (row === undefined) return
    say({ op: 'delete', id: row })
    if (chance < 0.85) await catalog.deleteFromTable({ id, predicate: `id = ${row}` })
    else
      await catalog.mergeInsertIntoTable({
        id,
        on: 'id',
        data: [{ id: row, n: 0 }],
        when_matched_delete: true,
      })
  }
  say({ end: 'done' })
}

for (;;) {
  try {
    await change()
  } catch (error) {
    say({ end: 'failed', message: String(error).slice(0, 300) })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
