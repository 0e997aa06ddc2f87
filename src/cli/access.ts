import { type Command, Option } from 'commander'

/** The options of commands that may work with a server. */
export interface AccessOptions {
  readonly token?: string
  readonly apiKey?: string
}

/** The options of every command that prints. */
export interface PrintOptions {
  readonly json?: boolean
}

/** The options of commands about what is in a catalog. */
export interface CatalogOptions extends AccessOptions, PrintOptions {
  readonly delimiter: string
}

export function addCatalogOptions(command: Command): Command {
  command
    .option('--delimiter <text>', 'the text between the names of identifiers', '.')
    .addOption(new Option('--token <token>', 'bearer token for a server').env('TABULARIUM_TOKEN'))
    .addOption(new Option('--api-key <key>', 'API key for a server').env('TABULARIUM_API_KEY'))
  return addPrintOptions(command)
}

export function addPrintOptions(command: Command): Command {
  command
    .option('--json', 'print lines of JSON (default when the output is no terminal)')
    .option('--no-json', 'print tables')
  // Because of `--no-json`, commander would set the option to true by default.
  command.setOptionValueWithSource('json', undefined, 'default')
  return command
}
