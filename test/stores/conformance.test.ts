import { describe, test } from 'vitest'
import { storeSuite } from '../../src/testing/suites/store-suite.ts'
import { lmdbPlace, memoryPlace } from './places.ts'

storeSuite({ describe, test }, memoryPlace, { name: 'the memory store' })
storeSuite({ describe, test }, lmdbPlace, { name: 'the LMDB store', histories: 20 })
