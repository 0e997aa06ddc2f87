import { describe, test } from 'vitest'
import { memoryContent } from '../../src/content/memory/index.ts'
import { openCatalog } from '../../src/index.ts'
import { catalogSuite } from '../../src/testing/suites/catalog-suite.ts'
import { transactionSuite } from '../../src/testing/suites/transaction-suite.ts'
import { guessingStore } from '../support/guessing-store.ts'

// A store may run bodies more than once. Whatever a body does besides reading and writing shows here.

const open = () => openCatalog({ store: guessingStore(), content: memoryContent() })

catalogSuite({ describe, test }, open, { name: 'a catalog over a store that guesses first' })
transactionSuite({ describe, test }, open, { name: 'transactions over a store that guesses first' })
