import { dirname, relative } from 'node:path'
import ts from 'typescript-5'

/*
 * Type declarations without what nobody sees: of the files that an entry point reaches, the statements that the types
 * of its exports need.
 */

/**
 * The declarations that the exports of `entry` need: the text of each file, by its path relative to the folder of the
 * entry. Members that symbols of the package name are left out: they are for its own parts. So values of two packages
 * that are made from these sources fit each other. Throws where a package is needed: who installs these has none.
 */
export function neededDeclarations(entry) {
  const program = ts.createProgram([entry], {
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
  })
  const { statements, specifiers, files } = needed(program, program.getSourceFile(entry))
  const texts = Array.from(files, (file) => [
    relative(dirname(entry), file.fileName),
    textOf(file, statements, specifiers),
  ])
  return new Map(texts)
}

/** The statements, the names of re-exports and the files that are needed, beginning with a whole file. */
function needed(program, entry) {
  const checker = program.getTypeChecker()
  const [statements, specifiers, files] = [new Set(entry.statements), new Set(), new Set([entry])]
  const reach = (symbol) => {
    for (const declaration of symbol?.declarations ?? []) {
      const file = declaration.getSourceFile()
      // What the platform declares is there.
      if (program.isSourceFileDefaultLibrary(file)) continue
      if (/node_modules/.test(file.fileName)) {
        throw new Error(`${entry} needs the declarations of a package, by ${symbol.name} of ${file.fileName}`)
      }
      files.add(file)
      if (ts.isExportSpecifier(declaration)) specifiers.add(declaration)
      else if (!isOfImport(declaration) && !ts.isSourceFile(declaration)) {
        statements.add(statementOf(declaration))
      }
      if (symbol.flags & ts.SymbolFlags.Alias) reach(checker.getImmediateAliasedSymbol(symbol))
    }
  }
  const visit = (node) => {
    if (isOfThePackage(node)) return
    if (ts.isIdentifier(node)) reach(checker.getSymbolAtLocation(node))
    ts.forEachChild(node, visit)
  }
  // A set goes on with what is added while it is walked.
  for (const statement of statements) if (!ts.isImportDeclaration(statement)) visit(statement)
  return { statements, specifiers, files }
}

const isOfImport = (node) =>
  ts.isImportSpecifier(node) || ts.isNamespaceImport(node) || ts.isImportClause(node)

/** Whether a node is a member that a symbol of the package names. The language has some of its own. */
function isOfThePackage({ name }) {
  return name !== undefined && ts.isComputedPropertyName(name) && !/^Symbol\./.test(name.expression.getText())
}

function statementOf(node) {
  return ts.isSourceFile(node.parent) ? node : statementOf(node.parent)
}

/** The text of a file with only some of its statements, and the imports that these need. */
function textOf(file, statements, specifiers) {
  const kept = file.statements.filter((one) => statements.has(one) && !ts.isImportDeclaration(one))
  const [used, left] = [new Set(), []]
  const note = (node) => {
    if (isOfThePackage(node)) {
      left.push([node.getFullStart(), node.end])
      return
    }
    if (ts.isIdentifier(node)) used.add(node.text)
    ts.forEachChild(node, note)
  }
  kept.forEach(note)
  for (const one of specifiers) if (one.getSourceFile() === file) note(one)
  const texts = file.statements.map((statement) => {
    if (ts.isImportDeclaration(statement)) {
      const { namedBindings } = statement.importClause
      const names = namedBindings.elements ?? [namedBindings]
      return only(
        statement,
        names.filter(({ name }) => used.has(name.text)),
      )
    }
    if (statements.has(statement)) return without(left, statement)
    if (!ts.isExportDeclaration(statement) || !statement.exportClause) return ''
    return only(
      statement,
      statement.exportClause.elements.filter((one) => specifiers.has(one)),
    )
  })
  const references = file.text.match(/^\/\/\/ <reference .*\n/gm) ?? []
  return `${references.join('')}${texts.join('').trim()}\n`
}

/** The text of a statement without some parts of its file, which are in order. */
function without(parts, statement) {
  const { text } = statement.getSourceFile()
  let [at, kept] = [statement.getFullStart(), '']
  for (const [from, to] of parts) {
    if (from < at || to > statement.end) continue
    kept += text.slice(at, from)
    at = to
  }
  return kept + text.slice(at, statement.end)
}

/** An import or export with some of its names; nothing without any. */
function only(statement, elements) {
  if (elements.length === 0) return ''
  const clause = statement.importClause ?? statement
  const names = elements.map((one) => one.getText()).join(', ')
  const listed = ts.isNamespaceImport(elements[0]) ? names : `{ ${names} }`
  const keyword = ts.isImportDeclaration(statement) ? 'import' : 'export'
  const from = statement.moduleSpecifier ? ` from ${statement.moduleSpecifier.getText()}` : ''
  return `\n${keyword} ${clause.isTypeOnly ? 'type ' : ''}${listed}${from};`
}
