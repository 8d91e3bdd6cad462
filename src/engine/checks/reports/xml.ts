import { XMLParser } from 'fast-xml-parser';

export type XmlNode = { readonly [name: string]: unknown };

const NESTED_TAGS_MAX = 64;
/** Declarations inside a document type can define entities. */
const INTERNAL_SUBSET = /<!DOCTYPE[^>]*\[/i;

/** Parses well-formed XML. Attributes are named `@name`; entities are not replaced. */
export function parseXml(text: string): XmlNode {
  if (INTERNAL_SUBSET.test(text)) throw new Error('its document type has declarations');
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

/** The elements of a name directly below a node. */
export function childrenOf(node: XmlNode, name: string): XmlNode[] {
  const found = Object.hasOwn(node, name) ? node[name] : [];
  return [found]
    .flat()
    .map((child) => (typeof child === 'object' && child !== null ? (child as XmlNode) : {}));
}
