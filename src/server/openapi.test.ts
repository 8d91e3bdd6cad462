import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { buildOpenApi } from './openapi.js';
import { ROUTES } from './routes.js';

test('the description is valid, and has every route under its id', async () => {
  const description = buildOpenApi(ROUTES) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  expect(await new Validator().validate(structuredClone(description))).toMatchObject({ valid: true });
  const described = Object.values(description.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(described.sort()).toEqual(ROUTES.map(({ id }) => id).sort());
  expect(new Set(described).size).toBe(ROUTES.length);
});
