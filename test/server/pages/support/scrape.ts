import { onTestFinished } from 'vitest'
import type { Catalog } from '../../../../src/catalog/handle/handle.ts'
import { fetchHandler } from '../../../../src/server/index.ts'
import { type Ask, asking } from '../../support/ask.ts'

/** What a scrape brought. */
export interface Scrape {
  readonly text: string
  /** The type of each metric, by its name. */
  readonly types: ReadonlyMap<string, string>
  /** The names of the labels that samples of each metric have, by its name. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>
  /** The value of a sample, such as `tabularium_lost_races_total{kind="rows"}`; undefined where there is none. */
  readonly value: (sample: string) => number | undefined
}

/** Reads the text format of Prometheus. */
function readScrape(text: string): Scrape {
  const types = new Map<string, string>()
  const labels = new Map<string, Set<string>>()
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, named, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (named !== undefined) types.set(named, type!)
    if (line === '' || line.startsWith('#')) continue
    const [, sample, name, inner = '', value] = /^(([a-z_0-9]+)(?:\{(.*)\})?) (\S+)$/.exec(line)!
    values.set(sample!, Number(value))
    const base = types.has(name!) ? name! : name!.replace(/_(bucket|sum|count)$/, '')
    const known = labels.get(base) ?? new Set()
    labels.set(base, known)
    for (const [, label] of inner.matchAll(/([a-z_]+)="/g)) known.add(label!)
  }
  return { text, types, labels, value: (sample) => values.get(sample) }
}

/** Serves a catalog without a socket until the test ends. Answers with how to ask it, and how to scrape it. */
export async function scraped(catalog: Catalog): Promise<{ ask: Ask; scrape: () => Promise<Scrape> }> {
  const handler = await fetchHandler(catalog, { auth: false, limits: { eventLoopDelay: 0 } })
  onTestFinished(async () => {
    await handler.close()
    await catalog.close()
  })
  const ask = asking((request) => handler(request), 'http://localhost')
  return { ask, scrape: async () => readScrape((await ask('GET', '/metrics')).text) }
}
