import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-5'
import { operationTypes, typesFile } from '../../build/operation-types.ts'

/*
 * The public types, without comments: a change of them is a change of test/package/public-types.txt, so a reviewer sees
 * it. Only the sources are parsed, without packages and without inference, which would take ten times as long.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string }>
}
const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true })

/** What each entry point exports, by name. What an earlier entry point exports is not listed again. */
export function publicTypes(): string {
  const entries = Object.entries(exports)
    .filter(([, { default: path }]) => path?.endsWith('.js'))
    .map(([name, { default: path }]) => {
      const source = path.replace('./dist/', 'src/').replace(/js$/, 'ts')
      return [`tabularium${name.slice(1)}`, join(root, source)] as const
    })
  const program = parsed(entries.map(([, path]) => path))
  const checker = program.getTypeChecker()
  const listed = new Map<ts.Symbol, string>()
  const parts = entries.map(([entry, path]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!
    const names = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1))
    const lines = names.flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const before = listed.get(symbol)
      if (before !== undefined) return `${exported.name} as in ${before}`
      listed.set(symbol, entry)
      return (symbol.declarations ?? []).map(shown)
    })
    return [`== ${entry} ==`, ...lines].join('\n')
  })
  return `${parts.join('\n\n')}\n`
}

function parsed(entries: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
    noLib: true,
    types: [],
  }
  const isSource = (path: string) => path.startsWith(join(root, 'src')) && existsSync(path)
  const generated = join(root, typesFile)
  const textOf = (path: string) => (path === generated ? operationTypes() : readFileSync(path, 'utf8'))
  return ts.createProgram([...entries], options, {
    getSourceFile: (path, languageOptions) =>
      isSource(path) || path === generated
        ? ts.createSourceFile(path, textOf(path), languageOptions)
        : undefined,
    fileExists: (path) => isSource(path) || path === generated,
    readFile: (path) => textOf(path),
    writeFile: () => {},
    getDefaultLibFileName: () => 'lib.d.ts',
    getCurrentDirectory: () => root,
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
  })
}

/** A declaration as it stands, without what only runs. Values whose type is inferred are shown by their name. */
function shown(declaration: ts.Declaration): string {
  const file = declaration.getSourceFile()
  const text = printer
    .printNode(ts.EmitHint.Unspecified, withoutBodies(declaration), file)
    .replace(/;$/gm, '')
    .replace(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
  return ts.isVariableDeclaration(declaration) ? `const ${text}` : text.replace(/^export (async )?/, '')
}

function withoutBodies(declaration: ts.Declaration): ts.Node {
  const remove = (context: ts.TransformationContext) => {
    const visit = (node: ts.Node): ts.Node | undefined => {
      const isBody = ts.isBlock(node) && !ts.isArrowFunction(node.parent)
      const isValue = ts.isVariableDeclaration(node.parent) && node === node.parent.initializer
      return isBody || isValue || isPrivate(node) ? undefined : ts.visitEachChild(node, visit, context)
    }
    return (node: ts.Node) => ts.visitEachChild(node, visit, context)
  }
  return ts.transform<ts.Node>(declaration, [remove]).transformed[0]!
}

function isPrivate(member: ts.Node): boolean {
  const name = (member as ts.NamedDeclaration).name
  return ts.isClassStaticBlockDeclaration(member) || (name !== undefined && ts.isPrivateIdentifier(name))
}
