export function iconsAt(origin: string) {
  return [
    { src: `${origin}/favicon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] },
    { src: `${origin}/favicon.png`, mimeType: 'image/png', sizes: ['256x256'] },
  ]
}
