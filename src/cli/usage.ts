/** The command was not typed as it should be: told in one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
