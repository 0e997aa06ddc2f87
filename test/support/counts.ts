import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brokenCatalogs } from '../testing/mutants/catalogs.ts'
import { brokenContents } from '../testing/mutants/contents.ts'
import { brokenIcebergs } from '../testing/mutants/iceberg.ts'
import { brokenServers } from '../testing/mutants/servers.ts'
import { brokenPlaces, brokenStores } from '../testing/mutants/stores.ts'
import { brokenTransactions } from '../testing/mutants/transactions.ts'
import { numbersOfSource, root } from './page-numbers.ts'

/* Counts and names in pages that the code determines. */

export const sourceOf = (file: string) => readFileSync(join(root, file), 'utf8')

/** The value of a constant in a file. */
export function numberIn(file: string, name: string): number {
  return numbersOfSource(new RegExp(`const ${name} = (.*)`).exec(sourceOf(file))![1]!)[0]!
}

/** The release that a file names right after a piece of text. */
export function releaseIn(file: string, before: string): string {
  const source = sourceOf(file)
  return /^[\d.]+/.exec(source.slice(source.indexOf(before) + before.length))![0]
}

/** The numbers of required and of optional members of an interface. */
function membersOf(file: string, name: string): { readonly must: number; readonly may: number } {
  const body = new RegExp(`^export interface ${name} .*?\\{\\n(.*?)^\\}`, 'ms').exec(sourceOf(file))![1]!
  const all = body.match(/^ {2}(?:readonly )?\w+\??[(<:]/gm)!
  const may = all.filter((member) => member.includes('?')).length
  return { must: all.length - may, may }
}

export const store = membersOf('src/base/store/store.ts', 'Store')
export const content = membersOf('src/base/content/content.ts', 'Content')

const broken = [
  ...[brokenStores, brokenPlaces, brokenContents, brokenCatalogs, brokenServers, brokenTransactions],
  brokenIcebergs,
].reduce((sum, all) => sum + all.length, 0)
export const hundredsOfMutants = 100 * Math.floor(broken / 100)

const manifest = JSON.parse(sourceOf('package.json'))
export const node = Number(/>=(\d+\.\d+)/.exec(manifest.engines.node)![1])
export const versionOf = (name: string) =>
  (/\d[\d.]*/.exec(JSON.parse(sourceOf('package-lock.json')).packages[`node_modules/${name}`].version) ??
    [])[0]!
const majorMinor = (name: string) => Number(/^\d+\.\d+/.exec(versionOf(name))![0])
export const typescripts = [majorMinor('typescript-5'), Number.parseInt(versionOf('typescript'), 10)]

/** The browsers that the page is built for. */
export const browsers = Array.from(
  sourceOf('build/page.js').matchAll(/'(?:chrome|firefox|safari)(\d+)'/g),
  ([, version]) => Number(version),
)

/** The version that `migrate` asks for, as `120_000`. */
export const oldestPostgres =
  Number(/version < (\d+)_000/.exec(sourceOf('src/stores/postgres/migrate.ts'))![1]) / 10
