import { expect, test } from 'vitest';
import { Router } from './router.js';
import { ROUTES } from './routes.js';

const TASK_PATH = '/api/tenants/acme/projects/shop/tasks/A-001-core';

test('a path is matched again by its method, whatever was matched before', () => {
  const router = new Router(ROUTES);
  const idOf = (method: string, path: string) => router.match(method, path)?.route.id;
  const plan = '/api/tenants/acme/projects/shop/plan';
  for (let repeat = 0; repeat < 2; repeat += 1) {
    expect([idOf('GET', plan), idOf('PUT', plan), idOf('POST', plan)]).toEqual([
      'get_plan',
      'put_plan',
      undefined,
    ]);
  }
});

test('a repeated path has the same parameters, and more paths than are kept are still matched', () => {
  const router = new Router(ROUTES);
  const subjectOf = (path: string) => router.match('GET', path)?.params.subject;
  for (let task = 0; task < 1100; task += 1)
    expect(subjectOf(`${TASK_PATH}${task}`)).toBe(`A-001-core${task}`);
  expect(subjectOf(`${TASK_PATH}7`)).toBe('A-001-core7');
  expect(subjectOf(`${TASK_PATH}${'x'.repeat(300)}`)).toBe(`A-001-core${'x'.repeat(300)}`);
});
