import { tableFromIPC } from '@uwdata/flechette'
import { type Catalog, CatalogError, type OperationOptions } from '../../src/tabularium/index.ts'
import { mapStrings } from './binding.ts'
import { finalReads } from './final-reads.ts'
import { emptyWorld, linearize, type World } from './linearize.ts'
import { type Command, type Outcome, otherRequest, predict } from './model/index.ts'
import { renderGroup, type Seen, seenIn } from './script.ts'
import type { Stage } from './stages.ts'

/**
 * Runs groups of calls, each group concurrently. The model must have the same outcomes in some order, and the same
 * final state as the catalog. A failure shows the history as code.
 */
export async function runHistory(stage: Stage, history: readonly (readonly Command[])[]): Promise<void> {
  const { catalog, root } = stage
  const folders = ['x', 'y'].map((name) => [`#R/${name}`, `${root}data/${name}`] as const)
  let worlds: World[] = [emptyWorld(folders)]
  const seen: Seen[] = []
  const script = [`// on ${stage.name}, root = ${JSON.stringify(root)}`]
  let count = 0

  async function runGroup(group: readonly Command[]): Promise<void> {
    const commands = group.map((command) => worlds[0]!.binding.toReal(resolve(command, seen)))
    const outcomes = await Promise.all(commands.map((command) => call(catalog, command)))
    script.push(renderGroup(count, commands, outcomes, seen, root))
    for (const outcome of outcomes) {
      if ('answer' in outcome) seen.push(...unseen(seenIn(outcome.answer, `r${count}`), seen))
      count++
    }
    const calls = commands.map((command, i) => ({ command, outcome: outcomes[i]!, start: 0, end: 0 }))
    const after = linearize(worlds, calls)
    if (after.length === 0) throw new Error(complaint(script, worlds[0]!, commands, outcomes))
    worlds = after
  }

  for (const group of history) if (group.length > 0) await runGroup(group)
  for (const read of finalReads(worlds[0]!.state)) await runGroup([read])
}

/** Runs one call, and returns its outcome. Rethrows errors other than refusals. */
export async function call(
  catalog: Catalog,
  { operation, request }: Command,
  options: OperationOptions = {},
): Promise<Outcome> {
  try {
    const run = catalog[operation] as (request: object, options: OperationOptions) => Promise<object>
    const answer = await run(request, options)
    if ('data' in answer) return { answer: { ...answer, data: rowsOf(answer.data as Uint8Array) } }
    return { answer }
  } catch (error) {
    if (!(error instanceof CatalogError) || error.code === 'Internal') throw error
    if (error.message.includes('belongs to another request')) return { error: error.code, at: otherRequest }
    const [, at] = /^(\w+\[\d+\]) failed, so nothing was committed: /.exec(error.message) ?? []
    return { error: error.code, ...(at && { at }) }
  }
}

function rowsOf(data: Uint8Array): unknown[] {
  return tableFromIPC(data)
    .toArray()
    .map(({ id, note, size }) => ({ id, note, ...(size !== undefined && { size }) }))
}

/** Replaces `#L?3`, `#T?3` and `#I?3` by one of the locations, transactions or dropped tables seen so far. */
export function resolve<T>(asked: T, seen: readonly Seen[]): T {
  return mapStrings(asked, (text) => {
    const wanted = /^#([LTI])\?(\d+)$/.exec(text)
    if (wanted === null) return text
    const choices = seen.filter(({ kind }) => kind === wanted[1])
    if (choices.length === 0) return wanted[1] === 'L' ? 's3://bucket/a' : 'none'
    return choices[Number(wanted[2]) % choices.length]!.real
  })
}

function unseen(found: readonly Seen[], seen: readonly Seen[]): Seen[] {
  return found.filter(({ real }) => seen.every((known) => known.real !== real))
}

function complaint(
  script: readonly string[],
  { state, binding }: World,
  commands: readonly Command[],
  outcomes: readonly Outcome[],
): string {
  const expected = commands.map((command) => {
    const { outcome } = predict(state, binding.toSymbols(command))
    return `${command.operation}: ${JSON.stringify(binding.toReal(outcome))}`
  })
  const found = outcomes.map((outcome, i) => `${commands[i]!.operation}: ${JSON.stringify(outcome)}`)
  const one = commands.length === 1
  return [
    'The catalog and the model disagree after this history:',
    ...script,
    one ? 'The model says:' : 'The model says, were each done first:',
    ...expected,
    one ? 'The catalog says:' : 'The catalog says, and no order explains it:',
    ...found,
  ].join('\n')
}
