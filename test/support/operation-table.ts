import { isUnsupported } from '../../src/catalog/operations/framework/operation.ts'
import { operations } from '../../src/tabularium/index.ts'

/** The README's table of operations, as the record of operations has it. */
export function operationTable(): string {
  const definitions = Object.values(operations).map(({ definition }) => definition)
  const supported = definitions.filter((definition) => !isUnsupported(definition))
  const missing = definitions.filter(isUnsupported)
  return [
    '| Operation | What it does | Fails with |',
    '|---|---|---|',
    ...supported.map(({ name, summary, errors }) => `| \`${name}\` | ${summary} | ${errors.join(', ')} |`),
    '',
    'Besides these, every operation may fail with `InvalidInput`, `PermissionDenied` or `ServiceUnavailable`.',
    `Known to the protocol and answered with \`Unsupported\`: ${missing.map(({ name }) => `\`${name}\``).join(', ')}.`,
  ].join('\n')
}
