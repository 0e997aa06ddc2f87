import { describe, expect, it } from 'vitest'
import { program } from '../../src/cli/main.ts'
import { suggestionsFor, synonyms } from '../../src/cli/near-miss.ts'
import { run } from './run.ts'

const streams = { stdin: (async function* () {})(), stdout: { write: () => {} }, stderr: { write: () => {} } }
const root = await program({ ...streams, env: {}, version: '1', signal: new AbortController().signal })
const commands = root.commands.flatMap((command) => [command.name(), ...command.aliases()])

describe('a command that is none', () => {
  it.each([
    ['haed', 'head'],
    ['lsit', 'list'],
    ['cuont', 'count'],
    ['quer', 'query'],
    ['dscribe', 'describe'],
    ['hist', 'history'],
    ['histry', 'history'],
    ['hxsz', undefined],
    ['SHOW', 'describe or head'],
    ['cat', 'query or head'],
    ['select', 'query'],
    ['cp', 'copy'],
    ['mkdir', 'create-namespace'],
    ['log', 'history'],
    ['xyzzy', undefined],
    ['__proto__', undefined],
    ['x'.repeat(10_000), undefined],
  ])('%s meant %s', async (word, meant) => {
    const { code, out, err } = await run([word, './c'])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    if (meant === undefined) expect(err).toMatch(/unknown command ".{1,80}"; see tabularium --help\n$/)
    else expect(err).toBe(`tabularium: unknown command "${word}"; did you mean ${meant}?\n`)
  })

  it('words of other tools lead to commands that there are, and are none themselves', () => {
    for (const [word, meant] of Object.entries(synonyms)) {
      expect(commands).not.toContain(word)
      for (const command of meant) expect(commands, word).toContain(command)
    }
  })

  it('no command is mistaken for another with little in common', () => {
    for (const word of ['head', 'ls', 'tags', 'open', 'rm', 'mv']) {
      const others = commands.filter((command) => command !== word)
      for (const meant of suggestionsFor(word, others)) expect(meant).not.toBe('help')
    }
  })
})
