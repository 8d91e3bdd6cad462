import { XMLParser } from 'fast-xml-parser';

export type XmlNode = { readonly [name: string]: unknown };

const NESTED_TAGS_MAX = 64;

/** Parses well-formed XML. Attributes are named `@name`; entities are not replaced. */
export function parseXml(text: string): XmlNode {
  if (hasDeclarations(text)) throw new Error('its document type has declarations');
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    parseTagValue: false,
    parseAttributeValue: false,
    processEntities: false,
    maxNestedTags: NESTED_TAGS_MAX,
  });
  return parser.parse(text, true) as XmlNode;
}

/** Declarations inside a document type can define entities. Reads every character once, so the time is linear. */
function hasDeclarations(text: string): boolean {
  const upper = text.toUpperCase();
  for (let at = upper.indexOf('<!DOCTYPE'); at !== -1; ) {
    const end = upper.indexOf('>', at);
    if (upper.slice(at, end === -1 ? undefined : end).includes('[')) return true;
    at = end === -1 ? -1 : upper.indexOf('<!DOCTYPE', end);
  }
  return false;
}

/** The elements of a name directly below a node. */
export function childrenOf(node: XmlNode, name: string): XmlNode[] {
  const value = Object.hasOwn(node, name) ? node[name] : [];
  return [value]
    .flat()
    .map((child) => (typeof child === 'object' && child !== null ? (child as XmlNode) : {}));
}
