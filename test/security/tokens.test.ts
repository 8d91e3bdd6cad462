/**
 * Three ways to get more from a server than its operator meant to give.
 *
 * Who: someone who once gets a token from a real issuer: a former employee, or a service whose tokens are short-lived
 * so that a stolen one soon becomes worthless.
 * What they want: a token dated in the future, whose lifetime looks short while it is valid for years.
 * What stops them: a token with an issue time in the future is refused, and its remaining lifetime is limited too.
 *
 * Who: someone who gets a token with a duplicate claim, where a gateway before the server reads the first of the two.
 * What stops them: the JSON of a token is read as strictly as a body.
 *
 * Who: a web page, opened in a browser on the machine where an open server runs.
 * What they want: to send requests to loopback, with forms, images and navigation, which carry no `Origin` header.
 * What stops them: an open server refuses every request that a browser marks as coming from another site or port.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { bearer } from '../support/bearer.js';
import { type Issuer, nowSeconds, startIssuer } from './support/issuer.js';

const YEAR_SECONDS = 365 * 24 * 3600;

describe('a token', () => {
  let issuer: Issuer;
  let testServer: TestServer;
  beforeAll(async () => {
    issuer = await startIssuer();
    testServer = await TestServer.start({ auth: { jwt: issuer.jwt } });
  });
  afterAll(async () => {
    await testServer.remove();
    await issuer.remove();
  });

  async function requestLimits(iat: number, exp: number) {
    const token = await issuer.sign({ tenant_id: 'acme', role: 'agent', iat, exp });
    return testServer.request('GET', `${TENANT_URL}/limits`, undefined, bearer(token));
  }

  it('is accepted if it was issued now and expires within the limit', async () => {
    expect((await requestLimits(nowSeconds(), nowSeconds() + 600)).status).toBe(200);
  });

  it.each([
    ['ten years', 10 * YEAR_SECONDS],
    ['an hour', 3600],
    ['a minute', 60],
  ])('is refused if it was issued %s in the future, however short its lifetime is', async (_, ahead) => {
    const iat = nowSeconds() + ahead;
    const { status, body } = await requestLimits(iat, iat + 600);
    expect([status, body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(body.detail).toContain('iat');
  });

  it('is refused if its issue time is the largest number', async () => {
    const { status } = await requestLimits(Number.MAX_VALUE, nowSeconds() + 10 * YEAR_SECONDS);
    expect(status).toBe(401);
  });
});

describe('a token with a claim twice', () => {
  it('is refused: a gateway that keeps the first one would see another tenant', async () => {
    const issuer = await startIssuer();
    const testServer = await TestServer.forTest({ auth: { jwt: issuer.jwt } });
    const claims = { iss: issuer.jwt.issuer, aud: issuer.jwt.audience, sub: 'mallory', role: 'admin' };
    const times = { iat: nowSeconds(), exp: nowSeconds() + 600 };
    const fields = JSON.stringify({ ...claims, ...times, tenant_id: 'acme' }).slice(1);
    const limitsWith = async (payload: string) =>
      testServer.request('GET', `${TENANT_URL}/limits`, undefined, bearer(await issuer.signText(payload)));
    expect((await limitsWith(`{${fields}`)).status).toBe(200);
    const refused = await limitsWith(`{"tenant_id":"other",${fields}`);
    expect([refused.status, refused.body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(refused.body.detail).toContain('tenant_id');
    await issuer.remove();
  });
});

describe('an open server', () => {
  let testServer: TestServer;
  beforeAll(async () => {
    testServer = await TestServer.start();
  });
  afterAll(() => testServer.remove());

  /** A request as a browser sends it: no library adds or removes a header. */
  function asBrowser(path: string, headers: Record<string, string | string[]>, method = 'GET') {
    return new Promise<number>((resolve, reject) => {
      const sent = request(testServer.url + path, { method, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject).end(method === 'GET' ? undefined : '{}');
    });
  }

  it.each(['cross-site', 'same-site', 'CROSS-SITE', 'anything', ''])(
    'refuses a request with Sec-Fetch-Site: %j, on every path',
    async (fetchSite) => {
      const headers = { 'sec-fetch-site': fetchSite, 'sec-fetch-mode': 'no-cors' };
      for (const path of ['/', '/healthz', '/metrics', `${PROJECT_URL}/status`, `${TENANT_URL}/keys`]) {
        expect(await asBrowser(path, headers), path).toBe(403);
      }
      expect(
        await asBrowser(`${TENANT_URL}/keys`, { ...headers, 'content-type': 'text/plain' }, 'POST'),
      ).toBe(403);
    },
  );

  it.each(['cross-site', 'same-site'])(
    'serves its pages to a link with Sec-Fetch-Site: %s, and nothing else',
    async (fetchSite) => {
      const link = {
        'sec-fetch-site': fetchSite,
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      };
      for (const path of ['/', '/?tenant=acme&project=shop', '/docs'])
        expect(await asBrowser(path, link), path).toBe(200);
      for (const path of [
        `${PROJECT_URL}/status`,
        `${TENANT_URL}/keys`,
        '/metrics',
        '/openapi.json',
        '/healthz',
        '/unknown',
      ])
        expect(await asBrowser(path, link), path).toBe(403);
      for (const headers of [
        { ...link, 'sec-fetch-dest': 'iframe' },
        { ...link, 'sec-fetch-mode': 'cors' },
        { ...link, host: 'rebound.example' },
        { ...link, origin: 'https://other.example' },
      ])
        expect(await asBrowser('/', headers), JSON.stringify(headers)).toBe(403);
      expect(await asBrowser(`${TENANT_URL}/keys`, link, 'POST')).toBe(403);
    },
  );

  it('refuses a request with two different Sec-Fetch-Site headers', async () => {
    expect(await asBrowser('/metrics', { 'sec-fetch-site': ['same-origin', 'cross-site'] })).toBe(403);
  });

  it.each(['same-origin', 'none'])(
    'serves its own page and direct navigation, with Sec-Fetch-Site: %s',
    async (fetchSite) => {
      expect(await asBrowser('/', { 'sec-fetch-site': fetchSite })).toBe(200);
      expect(await asBrowser('/metrics', { 'sec-fetch-site': fetchSite })).toBe(200);
    },
  );

  it('serves a program that sends no such header', async () => {
    expect(await asBrowser('/metrics', {})).toBe(200);
  });
});
