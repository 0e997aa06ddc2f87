import { describe, expect, it } from 'vitest'
import { operations } from '../../src/catalog/operations/index.ts'
import { fieldsOf } from '../../src/cli/fields.ts'
import { optionsOf } from '../../src/cli/options.ts'
import { type AnyOperation, kebab } from '../../src/cli/record.ts'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'

// Each option is a command of its own.
limitEach(120)

const token = 'a-token-of-the-team'

describe('an error about the value of an option names the option', () => {
  const jwt = (...last: string[]) => [
    '--jwks-url',
    'https://id.example',
    '--issuer',
    'x',
    '--audience',
    'y',
    ...last,
  ]
  it.each([
    ['--token', 'short'],
    ['--port', '99999'],
    ['--port', '1.5'],
    ['--trust-proxy', 'nowhere'],
    ['--stale', '-1'],
    ['--drain', '2h'],
    ['--arrow-bytes', 'x'],
    ['--transaction-idle', '-1'],
    ['--transaction-count', '0'],
    ['--transaction-age', 'x'],
    ['--retain-dropped', 'x'],
    ['--retain-versions', '0'],
    ['--lance-memory', '0'],
    ['--lance-time', '0s'],
    ['--advertise', 'nope'],
    ['--algorithms', 'none', ...jwt()],
    ['--jwks-url', 'nope', '--issuer', 'x', '--audience', 'y'],
    ['--listing', 'x'],
    ['--no-auth', '--host', '0.0.0.0'],
  ])('serve %s %s', async (flag, ...rest) => {
    const known = flag === '--token' || rest.includes('--issuer') ? [] : ['--token', token]
    const port = flag === '--port' ? [] : ['--port', '0']
    const { code, err } = await run(['serve', await freshFolder(), ...known, ...port, flag, ...rest])
    expect(code).toBeGreaterThan(0)
    expect(err).toContain(flag)
    expect(err).not.toMatch(/auth\.|trustProxy|Millis|lance:|openTransactions/)
  })

  it('a token of the environment is named by its variable', async () => {
    const env = { TABULARIUM_TOKEN: 'short' }
    const { err } = await run(['serve', await freshFolder(), '--port', '0'], { env })
    expect(err).toContain('InvalidInput: TABULARIUM_TOKEN must be at least')
  })

  const commands = Object.values(operations).flatMap(({ definition }) => {
    const operation = definition as unknown as AnyOperation
    if (operation.command === undefined) return []
    return fieldsOf(operation)
      .filter(
        ({ name, kind }) =>
          kind === 'number' && name !== 'id' && !operation.command!.positional?.includes(name),
      )
      .map((field) => ({ command: kebab(operation.name), field, operation }))
  })

  it('a number below the least, of each operation', async () => {
    const folder = await freshFolder()
    await run(['create', folder, 't', '--data', '[{"n":1}]'])
    let told = 0
    for (const { command, field, operation } of commands) {
      const flag = optionsOf(field).options[0]!.long!
      // What else it needs may be missed first.
      const id = operation.command!.id === 'namespace' ? '.' : 't'
      const { err } = await run([command, folder, id, flag, '-7.5'])
      if (!/whole number/.test(err)) continue
      told++
      expect(err, command).toContain(`${flag} must`)
    }
    expect(told).toBeGreaterThan(10)
  })
})
