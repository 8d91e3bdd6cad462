import { coverageCounts, type ReportParser } from './report-counts.js';
import { childrenOf, parseXml, type XmlNode } from './xml.js';

/** Cobertura XML: the number of covered lines, or the line rate if the tool writes no numbers of lines. */
export const parseCobertura: ReportParser = (text) => {
  const [root] = childrenOf(parseXml(text), 'coverage');
  if (root === undefined) throw new Error('the element `<coverage>` is missing');
  const [covered, valid] = [numberOf(root, '@lines-covered'), numberOf(root, '@lines-valid')];
  if (covered !== null && valid !== null) return coverageCounts(covered, valid);
  const rate = numberOf(root, '@line-rate');
  if (rate === null) throw new Error('`<coverage>` has no attribute `line-rate`');
  return coverageCounts(rate, 1);
};

function numberOf(node: XmlNode, name: string): number | null {
  const value = node[name];
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}
