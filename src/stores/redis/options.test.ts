import { describe, expect, it } from 'vitest';
import { StoreRefused } from '../store.js';
import { parseRedisUrl } from './options.js';

describe('the URL of a redis store', () => {
  it('sets all options', () => {
    expect(parseRedisUrl('rediss://ada:p%40ss@example.org:7000/2?profile=ha&namespace=acme')).toMatchObject({
      host: 'example.org',
      port: 7000,
      tls: true,
      username: 'ada',
      password: 'p@ss',
      database: 2,
      namespace: 'acme',
      profile: 'ha',
    });
    expect(parseRedisUrl('redis://[::1]')).toMatchObject({
      host: '::1',
      port: 6379,
      tls: false,
      database: 0,
      namespace: 'genesis_fleet',
      profile: 'durable',
    });
  });

  it.each([
    'nonsense',
    'http://host',
    'redis://:secret@',
    'redis://u:secret@host/x',
    'redis://u:secret@host?profile=fast',
    'redis://u:secret@host?namespace=a:b',
    'redis://u:secret@host?namespace=',
    'redis://u:secret%zz@host',
    'redis://u:secret@host?secret=1&pool=9',
  ])('is refused if it is invalid, and its password is not shown: %s', (url) => {
    const refused = (() => {
      try {
        return parseRedisUrl(url);
      } catch (error) {
        return error;
      }
    })();
    expect(refused).toBeInstanceOf(StoreRefused);
    expect((refused as Error).message).not.toMatch(/secret[^"]/);
  });
});
