import { expect, it } from 'vitest';
import { tableDefinitions } from './schema.js';

// req: STO-017
it('bills every table by request', () => {
  const names = { state: 'a', requests: 'b', blobs: 'c', log: 'd' };
  const modes = tableDefinitions(names).map(({ TableName, BillingMode }) => [TableName, BillingMode]);
  expect(modes).toEqual(Object.values(names).map((name) => [name, 'PAY_PER_REQUEST']));
});
