/** The databases of a test process, for tests that are not about the stores. */
export {
  ENGINES,
  type EngineName,
  migrate,
  sharedEngine as engine,
} from '../../src/stores/testing/shared-engine.js';
