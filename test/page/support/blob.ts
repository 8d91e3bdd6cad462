import { createHash } from 'node:crypto';
import { PROJECT_URL, type TestServer } from '../../../src/server/testing/test-server.js';

/** Uploads a text and returns its digest. */
export async function putText(testServer: TestServer, text: string): Promise<string> {
  const sha256 = createHash('sha256').update(text).digest('hex');
  await testServer.request('PUT', `${PROJECT_URL}/blobs/${sha256}`, new TextEncoder().encode(text), {
    'content-type': 'application/octet-stream',
  });
  return sha256;
}

/** Uploads files with these contents and returns their manifest. */
export async function putFiles(testServer: TestServer, contents: Readonly<Record<string, string>>) {
  const files = [];
  for (const [path, text] of Object.entries(contents)) {
    const sha256 = await putText(testServer, text);
    const size_bytes = Buffer.byteLength(text);
    files.push({ path, sha256, size_bytes, executable: false, base_sha256: null });
  }
  const total_bytes = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return { kind: 'files', files, total_bytes };
}
