import { describe, test } from 'vitest'
import { testStore } from '../store/store-suite.ts'
import { lmdbPlace, memoryPlace } from './places.ts'

describe('the memory store', () => testStore({ test, place: memoryPlace }))
describe('the LMDB store', () => testStore({ test, place: lmdbPlace }))
