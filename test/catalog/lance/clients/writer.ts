import { connectNamespace, type Table } from '@lancedb/lancedb'
import { HttpTransaction } from './transaction.ts'

/*
 * Changes a table through LanceDB's client until it is killed: `writer URL NUMBER`. It says what it tries before it
 * does, and then how it ended. Some of its handles are stale. In transactions it adds a row to each of two more tables.
 */

const [url, number] = process.argv.slice(2) as [string, string]
const say = (line: object) => console.log(JSON.stringify(line))
const pick = <T>(list: readonly T[]) => list[Math.floor(Math.random() * list.length)]!

process.stdin.on('end', () => process.exit()).resume()
const db = await connectNamespace('rest', { uri: url })

/** A table as it was opened, and the rows of this writer that it has. A handle does not delete what it does not see. */
interface Handle {
  readonly table: Table
  readonly rows: number[]
  readonly opened: number
}
/** How long a handle is used, in milliseconds. writer.py says why. */
const mostStale = 20_000
const handles: (Handle | undefined)[] = [undefined, undefined, undefined]
let next = Number(number) * 1_000_000
let there: number[] = []

async function change({ table, rows }: Handle): Promise<void> {
  const chance = Math.random()
  if (chance < 0.4) {
    const id = Math.floor(Math.random() * 10)
    say({ op: 'count', id })
    await table.update({ where: `id = ${id}`, valuesSql: { n: 'n + 1' } })
  } else if (chance < 0.6) {
    const id = next++
    say({ op: 'add', id })
    await table.add([{ id, n: 0 }])
    there.push(id)
  } else if (chance < 0.8) {
    const id = pick([10, 11, 12, 13, 14])
    const n = next++
    say({ op: 'upsert', id, n })
    await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute([{ id, n }])
  } else {
    const id = rows.pop()
    if (id === undefined || !there.includes(id)) return
    there = there.filter((other) => other !== id)
    say({ op: 'delete', id })
    await table.delete(`id = ${id}`)
  }
  say({ end: 'done' })
}

async function addPair(): Promise<void> {
  const id = next++
  const gives = Math.random() < 0.2
  say({ op: gives ? 'unpaired' : 'pair', id })
  const transaction = await HttpTransaction.begin(url)
  const inside = await connectNamespace('rest', { uri: url, headers: transaction.headers })
  for (const name of Math.random() < 0.5 ? ['u', 'w'] : ['w', 'u'])
    await (await inside.openTable(name)).add([{ id, n: 0 }])
  const status = await (gives ? transaction.rollback() : transaction.commit())
  if (status !== 200) throw new Error(`The transaction ended with ${status}`)
  say({ end: 'done' })
}

for (;;) {
  if (Math.random() < 0.15) {
    await addPair().catch((error: unknown) => say({ end: 'failed', message: String(error).slice(0, 300) }))
    continue
  }
  const at = Math.floor(Math.random() * handles.length)
  try {
    const opened = performance.now()
    if (Math.random() < 0.2 || opened - (handles[at]?.opened ?? 0) > mostStale) handles[at] = undefined
    const rows = [...there]
    handles[at] ??= { table: await db.openTable('t'), rows, opened }
    await change(handles[at])
  } catch (error) {
    say({ end: 'failed', message: String(error).slice(0, 300) })
    handles[at] = undefined
    // The server may be starting again.
    await new Promise((resolve) => setTimeout(resolve, pick([10, 50, 100])))
  }
}
