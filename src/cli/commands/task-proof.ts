import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isObject } from '../../core/events/plain-data.js';
import { readStrictJson } from '../../core/strict-json.js';
import { defineCommand } from '../command.js';
import { fileUnreadable, wrongUsage } from '../exit.js';
import { collectTaskProof } from '../proof/collect-task-proof.js';
import type { SentBody } from '../proof/signed-bodies.js';

export const taskProofCommand = defineCommand('proof <id>', {
  description: 'prove how the accepted result of a task or an edge came about',
  options: {
    '--out <file>': 'file to write (default: standard output)',
    '--bodies <file>': 'bodies of signed commands, one JSON object per line, as the agent sent them',
  },
  help: `
Writes one JSON document to hand to an auditor: the grants, refusals, reviews and the result, each with a proof that it is in
the log. Check it without this server: gen audit check FILE.

The log has the signatures of sessions, but not the bodies of the signed commands. With --bodies the document has the
bodies that match, so that the signatures can be checked too.

Examples:
  gen task proof A-001-schema > result.json
  gen task proof REQ-F-AUTH-001#design_code --out result.json --bodies sent.jsonl`,
  async run(context, taskId, { out, bodies }) {
    const sentBodies = bodies === undefined ? [] : await readBodies(resolve(context.io.cwd, bodies));
    const proof = await collectTaskProof(await context.genesis(), taskId, sentBodies);
    const text = JSON.stringify(proof, null, 2);
    if (out === undefined) return context.printReply(proof, () => text);
    const path = resolve(context.io.cwd, out);
    await writeFile(path, `${text}\n`).catch(({ code }: NodeJS.ErrnoException) => {
      throw wrongUsage(`--out: ${path} cannot be written (${code}). Pass another path.`);
    });
    context.printReply({ file: path, summary: proof.summary }, () => [
      ...proof.summary,
      `Written to ${path}.`,
    ]);
  },
});

async function readBodies(path: string): Promise<SentBody[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fileUnreadable(path, error, 'Nothing was proven.');
  });
  const lines = text.split('\n').map((line, index) => ({ line, position: `${path}:${index + 1}` }));
  return lines.filter(({ line }) => line.trim() !== '').map(({ line, position }) => readBody(line, position));
}

function readBody(line: string, position: string): SentBody {
  const parsed = readStrictJson(line);
  if ('fault' in parsed) throw wrongUsage(`${position}: ${parsed.fault}`);
  if (!isObject(parsed.value))
    throw wrongUsage(`${position}: expected a JSON object, the body of a command.`);
  return parsed.value;
}
