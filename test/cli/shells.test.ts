import { spawnSync } from 'node:child_process'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/folders.ts'
import { scriptPath } from '../support/scripts.ts'
import { home } from './home.ts'
import { run } from './run.ts'

/* Completion in the shells themselves, where they are installed: Debian has the packages zsh and fish. */

const missing = (shell: string) => spawnSync(shell, ['-c', 'true']).error !== undefined

describe('in a real shell', () => {
  let env: Record<string, string>
  let folder: string

  beforeAll(async () => {
    folder = await temporaryDirectory()
    const own = await home(folder)
    const program = join(folder, 'bin', 'tabularium')
    await mkdir(join(folder, 'bin'))
    await writeFile(
      program,
      `#!/bin/sh\nexec '${process.execPath}' '${scriptPath('src/cli/index.ts')}' "$@"\n`,
    )
    await chmod(program, 0o755)
    for (const shell of ['bash', 'zsh', 'fish'])
      await writeFile(join(folder, `completion.${shell}`), (await run(['completion', shell])).out)
    env = {
      ...own.env,
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      HOME: folder,
      TERM: 'dumb',
      LC_ALL: 'C.UTF-8',
    }
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  const inShell = (shell: string, args: readonly string[]) => {
    const { stdout, stderr, status } = spawnSync(shell, args, {
      env,
      cwd: folder,
      encoding: 'utf8',
      timeout: 19_000,
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout
  }

  it.skipIf(missing('bash'))('bash completes commands, profiles and tables', () => {
    const complete = (line: string) =>
      inShell('bash', [
        '--norc',
        '-c',
        `source completion.bash; compopt() { :; }; COMP_LINE=$1; COMP_POINT=\${#1}; read -ra COMP_WORDS <<< "$1"; _tabularium; printf '%s\\n' "\${COMPREPLY[@]}"`,
        'bash',
        line,
      ])
        .trimEnd()
        .split('\n')
    expect(complete('tabularium hea')).toEqual(['head'])
    // The text before the sign stays.
    expect(complete('tabularium ls @ho')).toEqual(['home'])
    expect(complete('tabularium head @home prod.fl')).toEqual(['prod.flights', 'prod.flights_old'])
  })

  it.skipIf(missing('zsh'))('zsh completes commands, profiles and tables', async () => {
    await writeFile(
      join(folder, 'start.zsh'),
      `PROMPT=
autoload -Uz compinit
compinit -u -d ./dump
source ./completion.zsh
bindkey '^I' complete-word
show() { print -r -- "\${BUFFER}|" > ./part && mv ./part ./shown; zle kill-buffer }
zle -N show
bindkey '^X' show
`,
    )
    // Completion of zsh works in its line editor only, and so on a terminal.
    await writeFile(
      join(folder, 'type.zsh'),
      `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./start.zsh; print rea""dy'
zpty -r -m shell out $'*ready\\r*'
for line in "$@"; do
  rm -f ./shown
  zpty -n -w shell "$line"$'\\t\\C-x'
  repeat 150; do [[ -s ./shown ]] && break; sleep 0.1; done
  cat ./shown
done
`,
    )
    const typed = [
      'tabularium hea',
      'tabularium ls @ho',
      'tabularium head @home pro',
      'tabularium head @home prod.flights_',
    ]
    expect(
      inShell('zsh', ['-f', 'type.zsh', ...typed])
        .trimEnd()
        .split('\n'),
    ).toEqual([
      'tabularium head |',
      'tabularium ls @home |',
      // After a namespace, its tables follow.
      'tabularium head @home prod.|',
      'tabularium head @home prod.flights_old |',
    ])
  })

  it.skipIf(missing('fish'))('fish completes commands, profiles and tables', () => {
    const complete = (line: string) =>
      inShell('fish', ['--no-config', '-c', 'source completion.fish; complete -C "$argv[1]"', line])
        .trimEnd()
        .split('\n')
    expect(complete('tabularium hea')).toEqual(['head\tShow the first rows of a table.'])
    expect(complete('tabularium ls @ho')).toEqual(['@home'])
    expect(complete('tabularium head @home prod.fl')).toEqual([
      'prod.flights\ttable',
      'prod.flights_old\ttable',
    ])
  })

  it('shells that are missing here are told', () => {
    const absent = ['bash', 'zsh', 'fish'].filter(missing)
    for (const shell of absent) console.warn(`Completion is not tried in ${shell}: install it.`)
    expect(absent.length).toBeLessThan(3)
  })
})
