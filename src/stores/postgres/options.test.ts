import { describe, expect, it } from 'vitest';
import { StoreRefused } from '../store.js';
import { parsePostgresUrl } from './options.js';

describe('the URL of a postgres store', () => {
  it('sets all options', () => {
    const url = 'postgres://ada:p%40ss@db.example:6543/fleet?namespace=acme&sslmode=no-verify&connections=3';
    expect(parsePostgresUrl(url)).toMatchObject({
      host: 'db.example',
      port: 6543,
      user: 'ada',
      password: 'p@ss',
      database: 'fleet',
      namespace: 'acme',
      ssl: 'unverified',
      connections_max: 3,
    });
  });

  it.each([
    'nonsense',
    'mysql://u:secret@h/d',
    'postgres://u:secret@h',
    'postgres://u:secret@h/d?namespace=a-b',
    'postgres://u:secret@h/d?namespace=pg_x',
    'postgres://u:secret@h/d?connections=0',
    'postgres://u:secret@h/d?sslmode=perhaps',
    'postgres://u:secret@h/d?colour=red',
  ])('is refused if it is invalid, and its password is not shown: %s', (url) => {
    expect(() => parsePostgresUrl(url)).toThrow(StoreRefused);
    expect(() => parsePostgresUrl(url)).not.toThrow(/secret/);
  });
});
