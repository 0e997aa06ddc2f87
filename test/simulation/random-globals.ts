export { simulatedBytes, simulatedRandom } from './random.ts'
