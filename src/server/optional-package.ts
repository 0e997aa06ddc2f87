import { CatalogError } from '../base/errors.ts'

/** Loads a package that only some servers need. Where it is not installed, the error says how it is. */
export async function optionalPackage<T>(what: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw new CatalogError(
      'Unsupported',
      `${what} needs the package ${name}, which cannot be loaded. Install it beside tabularium: npm install ${name}`,
      { cause },
    )
  }
}
