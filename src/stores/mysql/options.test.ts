import { describe, expect, it } from 'vitest';
import { StoreRefused } from '../store.js';
import { parseMysqlUrl } from './options.js';

describe('the URL of a mysql store', () => {
  it('sets all options', () => {
    const url = 'mysql://ada:p%40ss@db.example:3307/acme?tls=true&pool=3&connect_ms=200&statement_ms=2000';
    expect(parseMysqlUrl(url)).toEqual({
      host: 'db.example',
      port: 3307,
      user: 'ada',
      password: 'p@ss',
      namespace: 'acme',
      tls: true,
      pool_size: 3,
      connect_timeout_ms: 200,
      statement_timeout_ms: 2000,
    });
    expect(parseMysqlUrl('mariadb://[::1]')).toMatchObject({
      host: '::1',
      port: 3306,
      user: 'root',
      tls: false,
    });
  });

  it.each([
    'nonsense',
    'postgres://u:secret@h/d',
    'mysql://u:secret@h/a-b',
    'mysql://u:secret@h/d?pool=0',
    'mysql://u:secret@h/d?tls=perhaps',
    'mysql://u:secret@h/d?colour=red',
    'mysql://u:secret@127.0.0.1/d?tls=true',
    'mysql://u:secret@[::1]/d?tls=true',
  ])('is refused if it is invalid, and its password is not shown: %s', (url) => {
    expect(() => parseMysqlUrl(url)).toThrow(StoreRefused);
    expect(() => parseMysqlUrl(url)).not.toThrow(/secret/);
  });
});
