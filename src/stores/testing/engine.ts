/** A real engine that a test started, or found by its URL variable. */
export interface TestEngine {
  readonly url: string;
  /** Ends it as a power cut would, and starts it on the same data and port. Absent where the engine is not ours to end. */
  readonly restart?: () => Promise<void>;
  /** The two halves of a restart. */
  readonly halt?: () => Promise<void>;
  readonly boot?: () => Promise<void>;
  /** Resolves when it stands still: SIGSTOP, until SIGCONT. */
  readonly freeze?: () => Promise<void>;
  readonly thaw?: () => void;
  stop(): Promise<void>;
}

/** Why an engine cannot be had here, for the line that says what did not run. */
export interface MissingEngine {
  readonly missing: string;
}

/** `STORES=file,postgres` narrows what is tested. */
export function isSelected(name: string): boolean {
  const stores = process.env.STORES;
  return stores === undefined || stores === '' || stores.split(',').includes(name);
}

export const NOT_SELECTED: MissingEngine = { missing: 'not asked for' };

/** The engine, where one of its kind runs already, so that another cannot be missing. */
export function requireEngine<Engine extends TestEngine>(engine: Engine | MissingEngine): Engine {
  if ('missing' in engine) throw new Error(`A second engine cannot be started: ${engine.missing}.`);
  return engine;
}
