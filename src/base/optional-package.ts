import { unsupported } from './errors.ts'

/**
 * Loads an optional package. Fails with `Unsupported` and the install command when it is not installed. `note` says what
 * to know before.
 */
export async function optionalPackage<T>(
  what: string,
  name: string,
  load: () => Promise<T>,
  note = '',
): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw unsupported(
      `${what} needs the package ${name}, which cannot be loaded.`,
      `Install it beside tabularium: npm install ${name}${note}`,
      { cause },
    )
  }
}
