// Attribute-based encryption for Python: circl's tkn20 behind four functions and one that frees.
//
// Keeps: docs/format.md, "Policy seals". Only the variant that is secure against chosen ciphertexts is called (Encrypt, Decrypt). A
// panic ends the call, and not the process. What is given back lies in memory of C: who called wipes and frees it by edna_free.
// Does not know: policies as people write them, epochs, bags.
package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"strings"
	"unsafe"

	"github.com/cloudflare/circl/abe/cpabe/tkn20"
)

// What the functions return. library.py says the same.
const (
	done    C.int = 0
	refused C.int = 1 // the key does not open it, or something was changed
	broken  C.int = 2 // what was given is nothing that these functions take
)

// The value of every attribute that one has: name and value of a policy are one label, so that a worker may have several of a name.
const held = "1"

// edna_version says which functions these are. library.py asks for this one.
//
//export edna_version
func edna_version() C.int { return 1 }

//export edna_free
func edna_free(data *C.uint8_t, size C.size_t) {
	if data == nil {
		return
	}
	wipe(unsafe.Slice((*byte)(data), int(size)))
	C.free(unsafe.Pointer(data))
}

// edna_setup makes the parameters, for everybody, and the master key, for the monitor.
//
//export edna_setup
func edna_setup(parameters **C.uint8_t, parametersSize *C.size_t, master **C.uint8_t, masterSize *C.size_t) (status C.int) {
	defer survive(&status)
	public, secret, err := tkn20.Setup(nil)
	if err != nil {
		return broken
	}
	made, err := public.MarshalBinary()
	if err != nil {
		return broken
	}
	hidden, err := secret.MarshalBinary()
	if err != nil {
		return broken
	}
	give(made, parameters, parametersSize)
	give(hidden, master, masterSize)
	return done
}

// edna_key makes the key of whoever has these labels, which are separated by line feeds.
//
//export edna_key
func edna_key(master *C.uint8_t, masterSize C.size_t, labels *C.uint8_t, labelsSize C.size_t, key **C.uint8_t, keySize *C.size_t) (status C.int) {
	defer survive(&status)
	raw := taken(master, masterSize)
	defer wipe(raw)
	var secret tkn20.SystemSecretKey
	if secret.UnmarshalBinary(raw) != nil {
		return broken
	}
	had := map[string]string{}
	for _, label := range strings.Split(string(taken(labels, labelsSize)), "\n") {
		had[label] = held
	}
	var attributes tkn20.Attributes
	attributes.FromMap(had)
	made, err := secret.KeyGen(nil, attributes)
	if err != nil {
		return broken
	}
	marshalled, err := made.MarshalBinary()
	if err != nil {
		return broken
	}
	give(marshalled, key, keySize)
	return done
}

// edna_encrypt encrypts to a policy: labels with ":1" behind, "and", "or" and brackets. Count is how many labels it names.
//
//export edna_encrypt
func edna_encrypt(parameters *C.uint8_t, parametersSize C.size_t, policy *C.uint8_t, policySize C.size_t, count C.int, message *C.uint8_t, messageSize C.size_t, ciphertext **C.uint8_t, ciphertextSize *C.size_t) (status C.int) {
	defer survive(&status)
	var public tkn20.PublicKey
	if public.UnmarshalBinary(taken(parameters, parametersSize)) != nil {
		return broken
	}
	var read tkn20.Policy
	if read.FromString(string(taken(policy, policySize))) != nil {
		return broken
	}
	// Its parser stops where a policy could end, whatever stands behind: nothing of this one may be left out.
	leaves := 0
	for _, values := range read.ExtractAttributeValuePairs() {
		leaves += len(values)
	}
	if leaves != int(count) {
		return broken
	}
	plain := taken(message, messageSize)
	defer wipe(plain)
	made, err := public.Encrypt(nil, read, plain)
	if err != nil {
		return broken
	}
	give(made, ciphertext, ciphertextSize)
	return done
}

//export edna_decrypt
func edna_decrypt(key *C.uint8_t, keySize C.size_t, ciphertext *C.uint8_t, ciphertextSize C.size_t, message **C.uint8_t, messageSize *C.size_t) (status C.int) {
	defer survive(&status)
	raw := taken(key, keySize)
	defer wipe(raw)
	var mine tkn20.AttributeKey
	if mine.UnmarshalBinary(raw) != nil {
		return broken
	}
	plain, err := mine.Decrypt(taken(ciphertext, ciphertextSize))
	if err != nil {
		return refused
	}
	give(plain, message, messageSize)
	return done
}

func survive(status *C.int) {
	if recover() != nil {
		*status = broken
	}
}

func taken(data *C.uint8_t, size C.size_t) []byte {
	return C.GoBytes(unsafe.Pointer(data), C.int(size))
}

// give copies into memory of C and wipes the original.
func give(raw []byte, data **C.uint8_t, size *C.size_t) {
	*data, *size = (*C.uint8_t)(C.CBytes(raw)), C.size_t(len(raw))
	wipe(raw)
}

func wipe(raw []byte) { clear(raw) }

func main() {}
