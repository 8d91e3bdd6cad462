import { describe, expect, it } from 'vitest';
import type { ModuleMap } from './methodology.js';
import { moduleOverlap, suggestWorkOrder } from './modules.js';

const modules: ModuleMap = {
  feature_module_map: {
    LOGIN: ['auth', 'web'],
    ADMIN: ['auth', 'panel'],
    BILLING: ['invoices'],
    REPORTS: ['charts'],
    EMPTY: [],
  },
  dependency_dag: { auth: ['users'], panel: ['users'], users: ['db'], invoices: ['db'], db: ['users'] },
};

describe('the inner product of two features', () => {
  it('counts the modules that both touch', () => {
    expect(moduleOverlap(modules, 'LOGIN', 'ADMIN')).toEqual({ count: 3, shared: ['auth', 'db', 'users'] });
  });

  // req: RTE-011
  it('counts shared transitive dependencies, not only direct modules', () => {
    expect(moduleOverlap(modules, 'LOGIN', 'BILLING')).toEqual({ count: 2, shared: ['db', 'users'] });
  });

  it('is 0 if nothing is shared, and symmetric', () => {
    expect(moduleOverlap(modules, 'LOGIN', 'REPORTS')).toEqual({ count: 0, shared: [] });
    expect(moduleOverlap(modules, 'LOGIN', 'EMPTY').count).toBe(0);
    expect(moduleOverlap(modules, 'BILLING', 'LOGIN')).toEqual(moduleOverlap(modules, 'LOGIN', 'BILLING'));
  });

  it('counts all modules of a feature for the feature with itself', () => {
    expect(moduleOverlap(modules, 'LOGIN', 'LOGIN').count).toBe(4);
  });

  it('is unknown, not 0, for a feature that is missing from the map', () => {
    expect(moduleOverlap(modules, 'LOGIN', 'NOBODY')).toEqual({ count: null, shared: [] });
    expect(moduleOverlap(modules, 'constructor', 'LOGIN').count).toBeNull();
    expect(moduleOverlap(null, 'LOGIN', 'ADMIN').count).toBeNull();
  });
});

describe('the order of work on shared modules', () => {
  // req: RTE-008
  it('puts the shared modules first, dependencies before dependants', () => {
    const { shared_modules, features } = suggestWorkOrder(modules, ['REPORTS', 'BILLING', 'ADMIN', 'LOGIN']);
    expect(shared_modules).toEqual(['db', 'users', 'auth']);
    expect(features).toEqual(['ADMIN', 'LOGIN', 'BILLING', 'REPORTS']);
  });

  it('puts features with unknown modules last', () => {
    expect(suggestWorkOrder(modules, ['NOBODY', 'REPORTS']).features).toEqual(['REPORTS', 'NOBODY']);
    expect(suggestWorkOrder(null, ['B', 'A']).features).toEqual(['A', 'B']);
  });
});

it('handles a dependency cycle that is longer than the call stack is deep', () => {
  const length = 20_000;
  const dependency_dag = Object.fromEntries(
    Array.from({ length }, (_, index) => [`m${index}`, [`m${(index + 1) % length}`]]),
  );
  const modules = { feature_module_map: { A: ['m0'], B: ['m5'] }, dependency_dag };
  expect(moduleOverlap(modules, 'A', 'B').count).toBe(length);
  const { shared_modules } = suggestWorkOrder(modules, ['A', 'B']);
  expect(shared_modules).toHaveLength(length);
  expect(shared_modules.at(-1)).toBe('m0');
});
