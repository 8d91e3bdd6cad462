import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const realSetImmediate = globalThis.setImmediate;

/** Runs `task` in a separate turn of the event loop, outside of every promise. */
export const runInOwnTurn = (task: () => void): void => void realSetImmediate(task);

const { _tickCallback } = process as unknown as { readonly _tickCallback: () => void };

/**
 * Runs all pending microtasks and reports unhandled rejections, as Node does at the end of each turn. A separate turn
 * for each step would cost as much as many steps do.
 */
export const drainMicrotasks = (): void => _tickCallback();

/** The real time, to measure a run from outside. */
export const realNowMs: () => number = performance.now.bind(performance);

const RealDate = Date;
let isGuarding = false;

function assertNotGuarding(name: string): void {
  if (!isGuarding) return;
  throw new Error(
    `${name} was called inside a simulation. Use the injected clock and random source instead.`,
  );
}

/** A date of a given time is data and allowed; the current date is a clock and is not. */
function GuardedDate(...args: ConstructorParameters<DateConstructor>): Date {
  if (args.length === 1) return new RealDate(args[0]);
  if ((args as unknown[]).length === 0) assertNotGuarding('new Date()');
  return new RealDate(...args);
}

/**
 * Makes the functions that `installGuardsOnce` lists throw: those for the real time, real timers and real randomness.
 * Returns a function that allows them again.
 */
export function installGuards(): () => void {
  installGuardsOnce();
  isGuarding = true;
  return () => {
    isGuarding = false;
  };
}

let areGuardsInstalled = false;

/** Once for all runs: changing globals makes the engine discard most of its compiled code. */
function installGuardsOnce(): void {
  if (areGuardsInstalled) return;
  areGuardsInstalled = true;
  guard(RealDate, 'now');
  define(globalThis, 'Date', Object.assign(GuardedDate, dateStatics()));
  guard(Math, 'random');
  guard(performance, 'now');
  guard(globalThis, 'setTimeout');
  guard(globalThis, 'setInterval');
  guard(globalThis, 'setImmediate');
  guard(crypto, 'randomBytes');
  guard(crypto, 'randomFillSync');
  guard(crypto, 'randomUUID');
  syncBuiltinESMExports();
}

const dateStatics = () => ({
  now: RealDate.now,
  parse: RealDate.parse,
  UTC: RealDate.UTC,
  prototype: RealDate.prototype,
});

function guard<Name extends string>(owner: { [name in Name]: unknown }, name: Name): void {
  const real = owner[name] as (...args: unknown[]) => unknown;
  define(owner, name, (...args: unknown[]) => {
    assertNotGuarding(name);
    return real.apply(owner, args);
  });
}

function define(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}
