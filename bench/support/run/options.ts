import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Scale } from '../scale.ts'
import { questions, titleOf } from './questions.ts'
import { benchFolder } from './report.ts'

/** What a run is to do. */
export interface RunOptions {
  readonly asked: readonly string[]
  readonly scale: Scale
  /** Where the report goes; nowhere when absent. */
  readonly out?: string | undefined
  /** A file for the report as JSON, or `true` for standard output. */
  readonly json?: string | true | undefined
  readonly compare?: string | undefined
  readonly run: boolean
  /** Whether questions that the latest run has answered are left out. */
  readonly resume: boolean
}

const help = () => `npm run bench -- [OPTIONS] [QUESTION…]

Measures the catalog beside its peers, all questions or those named, and writes bench/report.md with its
pictures. Naming questions puts their answers in the place of the earlier ones. Each answer is kept as soon as
it is found, so a run that is cut off loses only the question under way.

  --quick          small sizes and few rounds, to see that all runs; writes no report without --out
  --short          the usual sizes in few rounds: all questions in less than half an hour
  --resume         goes on with a run that was cut off: asks only what it has not answered
  --full           the big ones too: a million namespaces, 100 million rows
  --json [FILE]    also writes the report as JSON to a file, or prints it
  --compare FILE   shows what changed since an earlier report.json
  --out FOLDER     where the report goes; bench when absent
  --no-run         asks nothing, and works on the report that is there
  --help           this text

Questions:
${questions.map((name) => `  ${name.padEnd(12)} ${titleOf(name)}`).join('\n')}`

export function readOptions(given: readonly string[]): RunOptions {
  const { values, positionals } = parse(given)
  if (values.help) {
    console.log(help())
    process.exit(0)
  }
  const unknown = positionals.filter((name) => !questions.includes(name))
  if (unknown.length > 0)
    fail(`There is no question ${unknown.join(', ')}. There are: ${questions.join(', ')}.`)
  const scales = (['quick', 'short', 'full'] as const).filter((name) => values[name])
  if (scales.length > 1) fail(`Give --${scales.join(' or --')}, not both.`)
  return {
    asked: positionals.length > 0 ? questions.filter((name) => positionals.includes(name)) : questions,
    scale: scales[0] ?? 'usual',
    out: values.out !== undefined ? resolve(values.out) : values.quick ? undefined : benchFolder,
    json: values.json === '' ? true : values.json,
    compare: values.compare,
    run: !values['no-run'],
    resume: values.resume,
  }
}

function parse(given: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({
      args: given.map((argument, i) => {
        const next = given[i + 1]
        const alone = next === undefined || next.startsWith('-') || questions.includes(next)
        return argument === '--json' && alone ? '--json=' : argument
      }),
      allowPositionals: true,
      options: {
        quick: flag,
        short: flag,
        resume: flag,
        full: flag,
        json: { type: 'string' },
        compare: { type: 'string' },
        out: { type: 'string' },
        'no-run': flag,
        help: flag,
      },
    })
  } catch (error) {
    return fail((error as Error).message)
  }
}

export function fail(why: string): never {
  console.error(`${why}\nnpm run bench -- --help tells more.`)
  process.exit(2)
}
