import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { problems } from '../../src/protocol/status.ts'

/*
 * Finds the numbers of pages, in digits and in words. What derives from the code, examples, code in a line, links and
 * the numbers of steps are left out: other tests hold those.
 */

export const root = fileURLToPath(new URL('../..', import.meta.url))

const folders = ['docs', 'docs/decisions', 'examples', 'python', 'test', 'bench']

/** The pages of the repository. The changelog and the report are records of what was, and the licence is not ours. */
export const pages = [
  ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md'],
  ...folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)),
].filter((name) => name.endsWith('.md') && name !== 'bench/report.md')

/** The text of a page without everything that is not prose. */
export function proseOf(page: string): string {
  return readFileSync(join(root, page), 'utf8')
    .replace(/^```.*?^```$/gms, '')
    .replace(/<!-- (\w+) -->.*?<!-- \/\1 -->/gs, '')
    .replace(/<!--.*?-->/gs, '')
    .replace(/^(\s*|#+ )\d+\. /gm, '$1')
}

const words = [
  ...['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve', 'thirteen'],
  ...['fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen', 'twenty'],
]
const tens = { thirty: 30, forty: 40, fifty: 50, sixty: 60, seventy: 70, eighty: 80, ninety: 90 }
const large = { hundred: 100, thousand: 1_000, million: 1_000_000, billion: 1_000_000_000 }
const values = new Map([
  ...words.map((word, i) => [word, i + 2] as const),
  ...Object.entries({ ...tens, ...large, half: 0.5 }),
])

const word = [...values.keys()].filter((word) => word !== 'half').join('|')
const number = new RegExp(`(?<![\\w.#+-])\\d[\\d,.]*(?<![,.])|\\b(?:(?:${word})s?|dozens?)\\b`, 'gi')

/** The statements of a text that have numbers: sentences, and rows of tables. */
export function statements(prose: string): string[] {
  return prose
    .split('\n')
    .flatMap((line) => (line.startsWith('|') ? [line] : line.split(/(?<=[.!?])\s+(?=[A-Z*`[_])/)))
    .map((statement) => statement.replace(/^\s*(?:[-*#>]+ )?/, '').trim())
    .filter((statement) =>
      (bare(statement).match(number) ?? []).some((found) => !isStatus(found) && !isNoCount(found)),
    )
}

/** A text without code in a line, without the targets of links, and without types such as decimals of 32 and 64 bits. */
function bare(text: string): string {
  return text
    .replace(/`[^`\n]*`/g, '`')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/\b(?:\d+(?: and | or |, ))*\d+[- ]bits?\b/g, 'bits')
}

/** Whether a number only means "none" or "the first". */
function isNoCount(text: string): boolean {
  return text === '0' || text === '1'
}

const statuses = new Set([200, 404, 405, 413, ...Object.keys(problems).map(Number)])

/** Whether a number is a status that the server answers. */
function isStatus(text: string): boolean {
  return /^\d{3}$/.test(text) && statuses.has(Number(text))
}

const units: Readonly<Record<string, readonly number[]>> = {
  ms: [1],
  second: [1, 1_000],
  minute: [60, 60_000],
  hour: [3_600, 3_600_000],
  day: [86_400, 86_400_000],
  kB: [1_000],
  KiB: [2 ** 10],
  MiB: [2 ** 20],
  GiB: [2 ** 30],
  hundred: [100],
  thousand: [1_000],
  million: [1_000_000],
  billion: [1_000_000_000],
}

/** The values that a number in a phrase may have in the units of code: `30 s` is 30 or 30,000. */
export function meanings(phrase: string): (number | string)[][] {
  const text = bare(phrase)
  return [...text.matchAll(number)].flatMap((match): (number | string)[][] => {
    // The version of a package.
    if (match[0].split('.').length > 2) return [[match[0]]]
    const value = values.get(match[0].toLowerCase().replace(/s$/, '')) ?? Number(match[0].replaceAll(',', ''))
    const after = /^\s*([A-Za-z]+)/.exec(text.slice(match.index + match[0].length))?.[1] ?? ''
    const before = /(\S+)\s$/.exec(text.slice(0, match.index))?.[1] ?? ''
    // The second word of "two million".
    if (after !== '' && match[0].toLowerCase() in large && isNumber(before)) return []
    if (match[0].toLowerCase() in large && isNumber(before)) return []
    const unit = units[after === 's' ? 'second' : after.replace(/s$/, '')] ?? units[after] ?? [1]
    return [unit.map((factor) => value * factor)]
  })
}

function isNumber(text: string): boolean {
  return /^\d/.test(text) || values.has(text.toLowerCase())
}

const named: Readonly<Record<string, number>> = { day: 86_400_000, mebibyte: 2 ** 20 }

/** The numbers in a piece of source, with products and powers evaluated. For a fraction such as `1 / 64`, it is 64. */
export function numbersOfSource(text: string): number[] {
  const digits = text.replaceAll('_', '').replace(/\b(?:day|mebibyte)\b/g, (name) => String(named[name]))
  const term = /(?<![\w.])\d+(?:\.\d+)?(?:\s*(?:\*\*?|<<|\/)\s*\d+)*/g
  return [...digits.matchAll(term)].map(([found]) =>
    found
      .replace(/^.*\//, '')
      .split(/(?<!\*)\*(?!\*)/)
      .map((factor) => {
        const [base, by] = factor.split(/\*\*|<</).map(Number) as [number, number?]
        if (by === undefined) return base
        return factor.includes('<<') ? base * 2 ** by : base ** by
      })
      .reduce((product, factor) => product * factor, 1),
  )
}

/** The counts in front of lists, such as "Four kinds:", and how many items follow. */
export function countsOfLists(
  prose: string,
): { readonly text: string; readonly says: number; readonly has: number }[] {
  const lists = /^(?!\||[-*] )(.*)(?::|\.)\n\n((?:[-*] .*\n(?:\n?[ ]{2,}.*\n)*)+)/gm
  return [...prose.matchAll(lists)].flatMap(([, line, items]) => {
    const last = line!.split(/[.;:] /).at(-1)!
    const count = new RegExp(`^(?:\\w+ ){0,3}?(${word})\\b`, 'i').exec(last)?.[1]
    if (count === undefined || !line!.endsWith(last)) return []
    return [{ text: last, says: values.get(count.toLowerCase())!, has: items!.match(/^[-*] /gm)!.length }]
  })
}
