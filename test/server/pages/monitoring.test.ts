import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { alertCases, casesForPromtool } from './support/alert-cases.ts'
import { readsOf } from './support/promql.ts'
import { type Scrape, scraped } from './support/scrape.ts'

/* The dashboard and the alerts of examples/monitoring ask for what a server exports. */

const folder = fileURLToPath(new URL('../../../examples/monitoring/', import.meta.url))
const file = (name: string) => readFile(folder + name, 'utf8')

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string }[]
}

const alertsOf = (yaml: string) =>
  (parse(yaml) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules)
const panelsOf = (json: string) => (JSON.parse(json) as { panels: Panel[] }).panels

/** Metrics and labels that Prometheus itself adds to a scrape. */
const ofPrometheus = { metrics: ['up'], labels: ['job', 'instance'] }

const scrapes: Scrape[] = []

/** What servers export of catalogs in a directory and in a database. */
async function exported(): Promise<readonly Scrape[]> {
  if (scrapes.length > 0) return scrapes
  const locations: [string, object][] = [[await freshFolder(), { lance: { isolate: true } }]]
  if (!missingPostgres)
    locations.push([await (await sharedServer()).freshUrl(), { content: `file://${await freshFolder()}` }])
  for (const [location, options] of locations) {
    const { ask, scrape } = await scraped(await openCatalog(location, options))
    await ask('GET', '/v1/table')
    scrapes.push(await scrape())
  }
  return scrapes
}

/** Holds that every metric of an expression is exported, with the labels by which it is chosen or grouped. */
async function expectExported(expression: string): Promise<readonly string[]> {
  const found = await exported()
  const base = (name: string) => (found[0]!.types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''))
  const labelsOf = (name: string) => found.flatMap(({ labels }) => [...(labels.get(base(name)) ?? [])])
  const isLeftOut = (name: string) => missingPostgres !== undefined && name.includes('_database_')
  const { metrics, labels, grouped } = readsOf(expression)
  expect(metrics.length, expression).toBeGreaterThan(0)
  for (const name of metrics) {
    if (ofPrometheus.metrics.includes(name)) continue
    expect([...found[0]!.types.keys()], expression).toContain(base(name))
    if (name.endsWith('_bucket')) expect(found[0]!.types.get(base(name))).toBe('histogram')
  }
  for (const { metric, label } of labels) {
    if (ofPrometheus.labels.includes(label) || isLeftOut(metric)) continue
    expect(labelsOf(metric), `${label} in ${expression}`).toContain(label)
  }
  for (const label of grouped) {
    if (ofPrometheus.labels.includes(label) || metrics.every(isLeftOut)) continue
    expect(metrics.flatMap(labelsOf), `${label} in ${expression}`).toContain(label)
  }
  return metrics
}

describe('alerts', () => {
  it('ask for metrics that servers export, with their labels', async () => {
    const alerts = alertsOf(await file('alerts.yml'))
    expect(alerts.length).toBeGreaterThan(7)
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
    for (const alert of alerts) {
      await expectExported(alert.expr)
      expect(alert.for).toMatch(/^\d+[mh]$/)
      expect(['page', 'ticket']).toContain(alert.labels.severity)
      const { summary, description } = alert.annotations
      expect(description).toMatch(/\.$/)
      // What a summary names is left by the expression.
      const named = [...summary.matchAll(/\$labels\.(\w+)/g)].map((match) => match[1]!)
      for (const label of named) expect(label === 'instance' || label === 'kind').toBe(true)
    }
  })

  it('use no rate of what goes up and down, and no value of what only grows', async () => {
    const [scrape] = await exported()
    const expressions = [
      ...alertsOf(await file('alerts.yml')).map(({ expr }) => expr),
      ...panelsOf(await file('dashboard.json')).flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]
    for (const expression of expressions) {
      for (const [, func, name] of expression.matchAll(/(\w+)\(([a-z]\w+?)(?:_bucket)?(?:\{[^}]*\})?\[/g)) {
        const isGrowing = scrape!.types.get(name!) !== 'gauge'
        expect([expression, func === 'rate']).toEqual([expression, isGrowing])
      }
      const bare = expression.replace(/\w+\([a-z]\w+(\{[^}]*\})?\[[^\]]*\][^)]*\)/g, '')
      for (const name of readsOf(`x + ${bare}`).metrics.slice(1))
        expect([expression, scrape!.types.get(name) ?? 'gauge']).toEqual([expression, 'gauge'])
    }
  })

  it('are each tried, firing and quiet', async () => {
    const alerts = alertsOf(await file('alerts.yml')).map(({ alert }) => alert)
    expect(alertCases.map(({ alert }) => alert).sort()).toEqual(alerts.sort())
  })

  it('fire when they should, as promtool finds', async ({ skip }) => {
    const run = promisify(execFile)
    const program = process.env.PROMTOOL ?? 'promtool'
    const version = await run(program, ['--version']).catch((error) => String(error.message))
    if (typeof version === 'string') return skip(`promtool is not installed: ${version}`)
    await run(program, ['check', 'rules', `${folder}alerts.yml`])
    const { stdout } = await run(program, ['check', 'config', '--syntax-only', `${folder}prometheus.yml`])
    expect(stdout).toContain('SUCCESS')
    const cases = join(await freshFolder(), 'cases.yml')
    await writeFile(cases, casesForPromtool(`${folder}alerts.yml`))
    await run(program, ['test', 'rules', cases]).catch((error) => {
      throw new Error(`${error.message}\n${error.stdout}`)
    })
  })
})

describe('the dashboard', () => {
  it('asks for metrics that servers export, with their labels', async () => {
    const named = new Set<string>()
    for (const { targets, title } of panelsOf(await file('dashboard.json'))) {
      expect(targets.length, title).toBeGreaterThan(0)
      for (const { expr } of targets)
        for (const name of await expectExported(expr)) named.add(name.replace(/_bucket$/, ''))
    }
    // Whatever is exported of the catalog is shown.
    const own = [...(await exported())[0]!.types.keys()].filter((name) => name.startsWith('tabularium_'))
    expect(own.filter((name) => !named.has(name))).toEqual([])
  })

  it('has panels that lie beside each other, each with an id of its own', async () => {
    const panels = panelsOf(await file('dashboard.json'))
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const { gridPos, title } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        expect(taken.has(`${x} ${gridPos.y}`), title).toBe(false)
        taken.add(`${x} ${gridPos.y}`)
      }
    }
  })
})

it('the page of the folder names its files', async () => {
  const page = await file('README.md')
  for (const name of await readdir(folder)) if (name !== 'README.md') expect(page).toContain(`(${name})`)
  const scraping = JSON.stringify(parse(await file('prometheus.yml')))
  expect(scraping).toContain('"job_name":"tabularium"')
  expect(scraping).toContain('"rule_files":["alerts.yml"]')
})

it('expressions are read for their metrics and labels', () => {
  expect(readsOf('sum by (le, x) (rate(a_total{k=~"5.."}[5m])) / on (i) b > 0.5 * 3e9 and c')).toEqual({
    metrics: ['a_total', 'b', 'c'],
    labels: [{ metric: 'a_total', label: 'k' }],
    grouped: ['le', 'x', 'i'],
  })
})
