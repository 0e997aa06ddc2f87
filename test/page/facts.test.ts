import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isWithin } from '../../src/base/model/identifier.ts'
import { beginCommands } from '../../src/page/model/begin.ts'
import { kindOf } from '../../src/page/model/kind.ts'
import type { LatestChange } from '../../src/page/model/latest.ts'
import { recentTables } from '../../src/page/model/recent-tables.ts'
import { sinceText } from '../../src/page/model/text.ts'
import { upkeepText } from '../../src/page/model/upkeep.ts'
import { serveInMemory } from '../server/support/ask.ts'

describe('the tables that changed last', () => {
  const id = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
  const change = fc.record({
    id: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
    operation: fc.constantFrom('InsertIntoTable', 'DropTable', 'CreateNamespace', 'DeclareTable'),
    transaction: fc.uuid(),
  })

  it('are each there once, in order, within the namespace, and none that was dropped since', () => {
    fc.assert(
      fc.property(
        fc.array(change),
        fc.array(id),
        fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
        (changes, below, within) => {
          const listed = below.map((one) => [...within, ...one])
          const given = changes.map(
            (one, key): LatestChange => ({ ...one, key: `${key}`, millis: 0, further: 0 }),
          )
          const found = recentTables(given, listed, within, 5)
          const names = found.map((table) => table.id.join('/'))
          expect(new Set(names).size).toBe(names.length)
          expect(found.every((table) => isWithin(table.id, within))).toBe(true)
          // The oracle: for each name, what its last change says.
          const last = new Map<string, (typeof changes)[number]>()
          for (const one of [...changes].reverse()) last.set(one.id.join('/'), one)
          const isTable = (name: string) =>
            name !== '' && /^(Insert|Declare)/.test(last.get(name)?.operation ?? '')
          const changed = [...new Set(changes.map((one) => one.id.join('/')))].filter(
            (name) =>
              isTable(name) && isWithin(name.split('/'), within) && name.split('/').length > within.length,
          )
          const rest = listed
            .map((one) => one.join('/'))
            .filter((name) => !last.has(name) && !changed.includes(name))
          expect(names.slice(0, changed.length)).toEqual(changed.slice(0, 5))
          expect(names.slice(changed.length).every((name) => rest.includes(name))).toBe(true)
          for (const { id, change } of found) expect(change).toBe(last.get(id.join('/'))?.transaction ?? '')
        },
      ),
    )
  })
})

describe('the state of the upkeep', () => {
  it('is read from the metrics of a server', async () => {
    const { ask } = await serveInMemory()
    const { text } = await ask('GET', '/metrics')
    expect(upkeepText(text)).toBe('up to date')
    const busy = text
      .replace('backlog_records{kind="transactions"} 0', 'backlog_records{kind="transactions"} 1200')
      .replace('backlog_records{kind="changes"} 0', 'backlog_records{kind="changes"} 34')
      .replace('removals_pending 0', 'removals_pending 1')
    expect(upkeepText(busy)).toBe('1,234 records to clear, 1 dropped table to remove')
    expect(upkeepText(text.replace('store_up 1', 'store_up 0'))).toBe('the store does not answer')
    expect(upkeepText('another_metric 1')).toBeUndefined()
  })
})

describe('words', () => {
  it('tell views and tables of Iceberg from tables', () => {
    const types = ['iceberg_view', 'ICEBERG', 'other']
    expect([...types.map((table_type) => kindOf({ table_type })), kindOf(undefined)]).toEqual([
      'View',
      'Iceberg table',
      'Table',
      'Table',
    ])
  })

  it('give commands only for names that a shell takes as they are', () => {
    expect(beginCommands('http://x', ['prod', 'eu'])[0]).toContain(' http://x prod.eu.flights --data ')
    for (const name of ['a b', '$(id)', "a'b", 'a.b', '-x', 'ü'])
      expect(beginCommands('http://x', [name])).toEqual([])
  })

  it('say how long ago something was', () => {
    const day = 86_400_000
    const ago = [0, 1_000, 59_000, 60_000, 3_600_000, 2 * day, 400 * day, -60_000]
    expect(ago.map((millis) => sinceText(0, millis))).toEqual([
      '0 seconds ago',
      '1 second ago',
      '59 seconds ago',
      '1 minute ago',
      '1 hour ago',
      '2 days ago',
      '400 days ago',
      'in 1 minute',
    ])
  })
})
